import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { startPart } from './parts/part-process.ts';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a part and its folder are gone soon after its test process was killed with -9', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'part-owner-'));
  const partDir = mkdtempSync(join(tmpdir(), 'part-owned-'));
  await build({
    entryPoints: [join(import.meta.dirname, 'parts/part-process.ts')],
    outfile: join(dir, 'part-process.mjs'),
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  });
  const options = { name: 'sleep', binary: 'sleep', args: ['600'], dir: partDir };
  const script = `import { startPart } from './part-process.mjs';
const part = startPart(${JSON.stringify({ ...options, logFile: join(partDir, 'log') })});
process.stdout.write(part.pid + '\\n');
setInterval(() => {}, 1000);`;
  writeFileSync(join(dir, 'owner.mjs'), script);
  const owner = spawn(process.execPath, [join(dir, 'owner.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(
    await new Promise((resolve) => owner.stdout.once('data', (data) => resolve(String(data)))),
  );
  expect(isAlive(pid)).toBe(true);
  owner.kill('SIGKILL');
  await expect.poll(() => isAlive(pid)).toBe(false);
  await expect.poll(() => existsSync(partDir)).toBe(false);
  rmSync(dir, { recursive: true });
});

test('stop waits for the end, says how it ended, and keeps the log', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'part-'));
  const part = startPart({
    name: 'speaker',
    binary: 'sh',
    args: ['-c', 'echo last words; sleep 600'],
    logFile: join(dir, 'log'),
    dir,
  });
  await expect.poll(() => part.tail()).toBe('last words');
  expect(part.ended).toBeUndefined();
  await part.kill9();
  expect(part.ended).toBe('SIGKILL');
  expect(isAlive(part.pid)).toBe(false);
  await part.stop();
  rmSync(dir, { recursive: true });
});

test('a binary that is not there is an error with its path', () => {
  const dir = mkdtempSync(join(tmpdir(), 'part-'));
  const options = { name: 'x', binary: '/no/such/x', args: [], logFile: join(dir, 'log'), dir };
  expect(() => startPart(options)).toThrow('x: could not start /no/such/x');
  rmSync(dir, { recursive: true });
});
