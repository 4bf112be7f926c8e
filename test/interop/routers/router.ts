/** What every router under test can be asked, in one vocabulary. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Family } from '../../../src/net/family.ts';
import type { Feature } from '../features.ts';
import { type Link, spawnIn } from '../link.ts';

export interface RouterSettings {
  asn: number;
  routerId: string;
  neighborAddress: string;
  neighborAsn: number;
  localAddress: string;
  /** The router waits for us. */
  isPassive: boolean;
  holdSeconds?: number;
  password?: string;
  hasGtsm?: boolean;
  /** IPv4 routes with IPv6 next hops (RFC 8950). */
  hasExtendedNextHop?: boolean;
  /** Another neighbor of the same AS, passive, that the router advertises to the first one. */
  secondNeighbor?: string;
  /** False: the router neither offers nor understands 4-octet AS numbers. */
  hasAs4?: boolean;
}

/** A route as the router's own command shows it. */
export interface TableRoute {
  prefix: string;
  nextHop: string;
  asPath: number[];
  communities: string[];
  largeCommunities: string[];
  localPref?: number | undefined;
  med?: number | undefined;
}

export interface RunningRouter {
  isEstablished(): Promise<boolean>;
  routes(family: Family): Promise<TableRoute[]>;
  /** Makes the router ask us for our routes again. */
  requestRefresh(): Promise<void>;
  /** Stops the clock of the router, and starts it again. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
  log(): string;
}

export interface Router {
  readonly name: string;
  readonly debianPackage: string;
  /** Features the router itself does not have, with the reason shown in the table. */
  readonly lacks: Readonly<Partial<Record<Feature, string>>>;
  /** Its listening socket has no TTL: the SYN-ACK would not pass our own check. */
  readonly onlyConnectsWithGtsm?: true;
  start(link: Link, settings: RouterSettings): Promise<RunningRouter>;
}

export interface Started {
  folder: string;
  child: ChildProcess;
  control: Pick<RunningRouter, 'freeze' | 'thaw' | 'stop' | 'log'>;
}

/** A folder for the files of one router, under the name of its run. */
export function routerFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `cad-${name}-`));
}

export function startDaemon(
  link: Link,
  folder: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Started {
  const logFile = join(folder, 'log');
  const child = spawnIn(link.theirs, command, args, { env, logFd: openSync(logFile, 'a') });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    folder,
    child,
    control: {
      freeze: () => signalAll(link, 'SIGSTOP'),
      thaw: () => signalAll(link, 'SIGCONT'),
      log: () => readFileSync(logFile, 'utf8'),
      async stop() {
        signalAll(link, 'SIGCONT');
        child.kill('SIGTERM');
        const late = setTimeout(() => signalAll(link, 'SIGKILL'), 3000);
        await gone;
        clearTimeout(late);
        rmSync(folder, { recursive: true, force: true });
      },
    },
  };

  // A router may be several processes (OpenBGPD is three); the namespace holds exactly those.
  function signalAll(of: Link, signal: NodeJS.Signals): void {
    for (const pid of pidsIn(of.theirs)) process.kill(pid, signal);
  }
}

function pidsIn(namespace: string): number[] {
  return execFileSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)
    .map(Number);
}

const named: Readonly<Record<string, string>> = {
  'no-export': '65535:65281',
  'graceful-shutdown': '65535:0',
};

/** Routers print well-known communities by name, each in its own way. */
export function communityNumbers(texts: readonly string[]): string[] {
  return texts.map((text) => named[text.toLowerCase().replaceAll('_', '-')] ?? text).sort();
}
