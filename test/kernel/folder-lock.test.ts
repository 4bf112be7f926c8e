/** The lock of a state folder, between processes: what separates them must not separate the lock. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/checkout.mjs';
import { ensureNode24 } from '../../scripts/node24.mjs';

const program = join(checkoutDir, `node_modules/.cache/lock-holder-${process.pid}.mjs`);
let folder: string;
let children: ChildProcess[] = [];

beforeAll(async () => {
  mkdirSync(dirname(program), { recursive: true });
  await build({
    entryPoints: [join(checkoutDir, 'test/kernel/lock-holder.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['koffi'],
    logLevel: 'error',
  });
  return () => rmSync(program);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadastre-lock-'));
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  rmSync(folder, { recursive: true });
});

/** Its first line: `locked …` or `refused: …`. */
async function hold(
  words: string[],
  options: { uid?: number; args?: string[] } = {},
): Promise<{ child: ChildProcess; said: string }> {
  const [command = '', ...rest] = [...words, program, folder, ...(options.args ?? [])];
  const { uid } = options;
  const child = spawn(command, rest, { ...(uid === undefined ? {} : { uid, gid: uid }) });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, said: String(line).trim() };
}

const node = [process.execPath];

test('holds across network namespaces', async () => {
  const { child, said } = await hold(['unshare', '--net', ...node]);
  expect(said).toMatch(/^locked/);
  const { said: refused } = await hold(['unshare', '--net', ...node]);
  expect(refused).toContain(`${folder} is in use by process ${child.pid} (cadastre`);
});

test('a holder in another PID namespace is named as such', async () => {
  await hold(['unshare', '--pid', '--fork', '--kill-child', ...node]);
  expect((await hold(node)).said).toMatch(/is in use by process 1 of another PID namespace/);
});

test('holds across versions of Node', async () => {
  await hold([await ensureNode24()]);
  expect((await hold(node)).said).toMatch(/^refused: .* is in use by process/);
});

test('another user gets neither the lock nor its place', async () => {
  chmodSync(folder, 0o777);
  await hold(node);
  const { said } = await hold(node, { uid: 65534 });
  expect(said).toMatch(/^refused: .* cannot be locked: EACCES/);
});

test('is free after kill -9, although a child process lives on', async () => {
  const { child } = await hold(node, { args: ['600'] });
  const sleeper = execFileSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' }).trim();
  try {
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await hold(node)).said).toMatch(/^locked/);
    expect(existsSync(`/proc/${sleeper}`)).toBe(true);
  } finally {
    process.kill(Number(sleeper), 'SIGKILL');
  }
});
