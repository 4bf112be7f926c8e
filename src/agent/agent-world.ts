import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import type { Log, LogLevelSwitch } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Announcement } from '../bgp/rib/announcement.ts';
import type { AnnouncedRoute, SpeakerOptions } from '../bgp/speaker/speaker.ts';
import type { PeerView } from '../bgp/speaker/speaker-peer.ts';
import type { FollowCache } from '../cluster/followed-cache.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { KubeClient } from '../kube/client.ts';
import type { PeerSettings } from '../model/peer-settings.ts';

/** The part of the Speaker that an agent uses. */
export interface SpeakerDriver {
  listen(): Promise<void>;
  setPeers(all: readonly PeerSettings[]): ReadonlyArray<{ name: string; reason: string }>;
  set(all: readonly Announcement[]): ReadonlyArray<{ announcement: Announcement; reason: string }>;
  peers(): PeerView[];
  announcedTo(name: string): readonly AnnouncedRoute[];
  close(how: 'restart' | 'drain', words?: string): Promise<void>;
}

/** Everything outside that an agent touches. */
export interface AgentWorld {
  client: KubeClient;
  /** Caches shared with other agents of this process; undefined: a list and watch of its own. */
  follow?: FollowCache;
  kernel: Kernel;
  /** What tells this machine from others (machine-id.ts); undefined: a node in memory, on none. */
  machine?: string;
  openSpeaker: (options: SpeakerOptions) => SpeakerDriver;
  /** Whether an earlier run was alive so recently that a router with this restart time still keeps its routes. */
  hasRestarted: (restartSeconds: number) => boolean;
  files: DurableFiles;
  clock: Clock;
  /** Of this machine, if it is not given. */
  boot?: BootClock;
  random: () => number;
  log: Log;
  /** What the socket changes; undefined: the log's level stays as it is. */
  logLevel?: LogLevelSwitch | undefined;
  metrics: Metrics;
}
