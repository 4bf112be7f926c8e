/**
 * Network namespaces for tests, each name `cad-PID-…`: parallel runs do not
 * meet, and what a crashed run left behind is told from what is alive.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
let counter = 0;

export interface Namespace {
  name: string;
  path: string;
}

/** Words of an `ip` command line, split at spaces. */
export async function ip(words: string): Promise<string> {
  return (await run('ip', words.split(' '))).stdout;
}

/** A command inside; its stdout. */
export async function inside(namespace: Namespace, words: string): Promise<string> {
  return (await run('ip', ['netns', 'exec', namespace.name, ...words.split(' ')])).stdout;
}

export async function addNamespace(): Promise<Namespace> {
  const name = `cad-${process.pid}-${counter++}k`;
  await ip(`netns add ${name}`);
  await ip(`-n ${name} link set lo up`);
  return { name, path: `/run/netns/${name}` };
}

export async function deleteNamespace({ name }: Namespace): Promise<void> {
  await ip(`netns del ${name}`).catch(() => undefined);
}

/** Names of runs that are over, and of this one if it `isOver`. */
export async function sweepNamespaces({ isOver }: { isOver: boolean }): Promise<string[]> {
  const left: string[] = [];
  for (const name of namespaceNames()) {
    const pid = Number(/^cad-(\d+)-\d+k$/.exec(name)?.[1]);
    if (Number.isNaN(pid)) continue;
    if (pid === process.pid ? !isOver : isAlive(pid)) continue;
    left.push(name);
    await ip(`netns del ${name}`).catch(() => undefined);
  }
  return left;
}

function namespaceNames(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    return [];
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
