/**
 * Two network namespaces and one veth between them: ours and the router's.
 * Every name starts with `cad-PID`, so parallel runs do not meet, and what a
 * crashed run left behind can be distinguished from what is alive.
 */
import { execFile, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Link {
  ours: string;
  theirs: string;
  our4: string;
  their4: string;
  our6: string;
  their6: string;
  /** Runs a command in the router's namespace and returns its stdout. */
  inTheirs(command: string, ...args: string[]): Promise<string>;
  inOurs(command: string, ...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

let counter = 0;

export async function makeLink(): Promise<Link> {
  const prefix = `cad-${process.pid}-${counter++}`;
  const ours = `${prefix}u`;
  const theirs = `${prefix}r`;
  // Interface names end at 15 characters; they are only seen inside the namespaces.
  await batch([
    `netns add ${ours}`,
    `netns add ${theirs}`,
    `-n ${ours} link add cad-up type veth peer name cad-down netns ${theirs}`,
    `-n ${ours} addr add 10.88.0.1/24 dev cad-up`,
    `-n ${ours} addr add fd00:88::1/64 dev cad-up nodad`,
    `-n ${ours} link set lo up`,
    `-n ${ours} link set cad-up up`,
    `-n ${theirs} addr add 10.88.0.2/24 dev cad-down`,
    `-n ${theirs} addr add fd00:88::2/64 dev cad-down nodad`,
    `-n ${theirs} link set lo up`,
    `-n ${theirs} link set cad-down up`,
  ]);
  const inside = async (namespace: string, command: string, args: string[]) => {
    const { stdout } = await run('ip', ['netns', 'exec', namespace, command, ...args], {
      maxBuffer: 64 << 20,
    });
    return stdout;
  };
  return {
    ours,
    theirs,
    our4: '10.88.0.1',
    their4: '10.88.0.2',
    our6: 'fd00:88::1',
    their6: 'fd00:88::2',
    inTheirs: (command, ...args) => inside(theirs, command, args),
    inOurs: (command, ...args) => inside(ours, command, args),
    async remove() {
      await removeNamespace(ours);
      await removeNamespace(theirs);
    },
  };
}

async function batch(lines: string[]): Promise<void> {
  for (const line of lines) await run('ip', line.split(' '));
}

async function removeNamespace(name: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'pids', name]).catch(() => ({ stdout: '' }));
  for (const pid of stdout.split('\n').filter(Boolean)) kill(Number(pid), 'SIGKILL');
  await run('ip', ['netns', 'del', name]).catch(() => undefined);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between the list and the signal.
  }
}

/** Removes what runs that are no longer alive left behind, with the processes inside. */
export async function sweepDeadRuns(): Promise<void> {
  let names: string[];
  try {
    names = readdirSync('/run/netns');
  } catch {
    return;
  }
  for (const name of names) {
    const pid = /^cad-(\d+)-\d+[ur]$/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await removeNamespace(name);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function spawnIn(
  namespace: string,
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; logFd: number; ipc?: boolean },
) {
  // `ip netns exec` replaces itself by the command, so the child's pid is the command's.
  return spawn('ip', ['netns', 'exec', namespace, command, ...args], {
    env: { ...process.env, ...options.env },
    stdio: options.ipc
      ? ['ignore', options.logFd, options.logFd, 'ipc']
      : ['ignore', options.logFd, options.logFd],
  });
}

/** Waits until the question is answered with yes; says what it saw last when it never is. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T> | T,
  isYes: (answer: T) => boolean = Boolean,
  withinMs = 30_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (isYes(answer)) return answer;
      last = answer;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
    }
    if (Date.now() > end) {
      throw new Error(`never: ${what}; last seen ${JSON.stringify(last)?.slice(0, 2000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
