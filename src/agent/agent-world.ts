import type { Clock } from '../base/clock.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SpeakerOptions } from '../bgp/speaker/speaker.ts';
import type { FollowCache } from '../cluster/followed-cache.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { KubeClient } from '../kube/client.ts';
import type { SpeakerDriver } from './announcer.ts';

/** Everything outside that an agent touches. */
export interface AgentWorld {
  client: KubeClient;
  /** Caches shared with other agents of this process; undefined: a list and watch of its own. */
  follow?: FollowCache;
  kernel: Kernel;
  openSpeaker: (options: SpeakerOptions) => SpeakerDriver;
  /** Whether an earlier run was alive so recently that the routers still keep its routes. */
  hasRestarted: () => boolean;
  files: DurableFiles;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}
