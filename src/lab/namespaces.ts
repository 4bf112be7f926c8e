/** Network namespaces: `ip` in batches, settings, and the processes in each. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { CadastreError } from '../base/errors.ts';
import { namespaceExists } from '../kernel/netlink/namespace.ts';
import { nativeNetlink } from '../kernel/netlink/native.ts';

const run = promisify(execFile);

export function namespacePath(name: string): string {
  return `/run/netns/${name}`;
}

export function hasNamespace(name: string): boolean {
  return existsSync(namespacePath(name));
}

/** A namespace of our name that is not ours must not be taken for ours later. */
export function refuseForeignNamespaces(namespaces: readonly string[]): void {
  const strange = namespaces.filter(hasNamespace);
  if (strange.length === 0) return;
  throw new CadastreError(
    'LAB_EXISTS',
    `${strange.join(', ')}: exists already, and was not made by a lab`,
    {
      remedy: 'Choose another --name, or remove them: ip netns del NAME.',
    },
  );
}

/** Many commands of `ip`, one process; in a namespace, or where we are. */
export async function ipBatch(namespace: string | undefined, lines: readonly string[]) {
  if (lines.length === 0) return;
  const enter = namespace === undefined ? [] : ['-n', namespace];
  const child = run('ip', [...enter, '-batch', '-']);
  child.child.stdin?.on('error', () => {});
  child.child.stdin?.end(`${lines.join('\n')}\n`);
  try {
    await child;
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    const at = Number(/-:(\d+)/.exec(stderr)?.[1]);
    const line = lines[at - 1] ?? lines[0];
    throw new CadastreError(
      'LAB_FAILED',
      `ip ${line}${namespace === undefined ? '' : ` (in ${namespace})`}: ${stderr.trim().split('\n')[0]}`,
      {
        remedy: 'What was made stays as it is; cadastre lab down, or lab cluster down, removes it.',
      },
    );
  }
}

/** JSON of `ip -j` in a namespace. */
export async function ipJson<T>(namespace: string, words: string): Promise<T> {
  const { stdout } = await run('ip', ['-n', namespace, '-j', ...words.split(' ')], {
    maxBuffer: 64 << 20,
  });
  return JSON.parse(stdout.trim() === '' ? '[]' : stdout) as T;
}

export function writeSettings(namespace: string, settings: Readonly<Record<string, number>>): void {
  const leave = enterNamespace(namespace);
  try {
    for (const [path, value] of Object.entries(settings)) {
      const file = `/proc/sys/net/${path}`;
      // A kernel without IPv6, or without one of its switches, has nothing to switch.
      if (existsSync(file)) writeFileSync(file, String(value));
    }
  } finally {
    leave();
  }
}

/**
 * Moves this process's main thread, and with it every connection and child it
 * makes from now on, into the namespace; the returned function moves it back.
 */
export function enterNamespace(name: string): () => void {
  const path = namespacePath(name);
  if (!namespaceExists(path)) {
    throw new CadastreError('NO_LAB', `the namespace ${name} is gone`, {
      remedy: 'The lab is damaged or half-made: cadastre lab down removes what is left.',
    });
  }
  const native = nativeNetlink();
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(path, 'r');
  const failed = native.enterNamespace(there);
  closeSync(there);
  if (failed !== 0) {
    closeSync(home);
    throw new CadastreError('KERNEL_NOT_PERMITTED', `cannot enter ${name} (errno ${failed})`, {
      remedy: 'A lab needs root.',
    });
  }
  return () => {
    native.enterNamespace(home);
    closeSync(home);
  };
}

/** The processes inside, this one excepted. */
function processesIn(namespaces: readonly string[]): Map<string, number[]> {
  const byInode = new Map<string, string>();
  const found = new Map<string, number[]>();
  for (const name of namespaces) {
    found.set(name, []);
    const inode = statSync(namespacePath(name), { throwIfNoEntry: false })?.ino;
    if (inode !== undefined) byInode.set(`net:[${inode}]`, name);
  }
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const name = byInode.get(readlinkSync(`/proc/${pid}/ns/net`));
      if (name !== undefined && !isZombie(pid)) found.get(name)!.push(pid);
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

function isZombie(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

/** Kills everything that runs inside. */
export async function endProcesses(namespaces: readonly string[]): Promise<number> {
  const start = performance.now();
  const ended = new Set<number>();
  for (;;) {
    const left = [...processesIn(namespaces).values()].flat();
    if (left.length === 0) return ended.size;
    for (const pid of left) {
      ended.add(pid);
      sendSignal(pid, 'SIGKILL');
    }
    if (performance.now() - start > 20_000) {
      throw new CadastreError('LAB_FAILED', `processes ${left.join(', ')} do not end`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** False if there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

export async function deleteNamespaces(names: readonly string[]): Promise<void> {
  const there = names.filter(hasNamespace);
  await ipBatch(
    undefined,
    there.map((name) => `netns del ${name}`),
  );
}

/** A command inside, and what it said. */
export async function runInside(
  namespace: string,
  command: readonly string[],
  options: { env?: NodeJS.ProcessEnv; timeoutMs?: number; stdin?: string } = {},
): Promise<{ stdout: string; stderr: string; code: number }> {
  const child = run('nsenter', [`--net=${namespacePath(namespace)}`, ...command], {
    env: { ...process.env, ...options.env },
    maxBuffer: 64 << 20,
    timeout: options.timeoutMs ?? 30_000,
  });
  if (options.stdin !== undefined) child.child.stdin?.end(options.stdin);
  try {
    return { ...(await child), code: 0 };
  } catch (error) {
    const failed = error as { stdout?: string; stderr?: string; code?: number | string };
    if (typeof failed.code !== 'number') throw error;
    return { stdout: failed.stdout ?? '', stderr: failed.stderr ?? '', code: failed.code };
  }
}

/** A process inside that goes on after we have ended. Its pid is the command's own. */
export function startInside(
  namespace: string,
  command: readonly string[],
  options: { logFile: string; env?: NodeJS.ProcessEnv },
): ChildProcess {
  const log = openSync(options.logFile, 'a');
  const child = spawn('nsenter', [`--net=${namespacePath(namespace)}`, ...command], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
    cwd: '/',
  });
  closeSync(log);
  child.on('error', () => {});
  child.unref();
  return child;
}
