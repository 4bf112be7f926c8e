import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { hostileText, terminalCodes } from '../../test/parts/terminal-codes.ts';
import { jsonLog } from './json-log.ts';

test.runIf(existsSync('/dev/full'))('a full disk takes the log, not the process', async () => {
  const log = jsonLog({ destination: { path: '/dev/full' } });
  const line = 'x'.repeat(10_000);
  const before = process.memoryUsage.rss();
  for (let count = 0; count < 5000; count++) log.info({ count }, line);
  // An error that nobody listens to would have ended the process by now.
  await new Promise((resolve) => setImmediate(resolve));
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 << 20);
});

test('a log line holds no code that a terminal obeys, and is the same data', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'cadastre-log-')), 'log');
  jsonLog({ destination: { path } }).warn({ peer: hostileText }, hostileText);
  const text = readFileSync(path, 'utf8');
  expect([terminalCodes(text), text.split('\n').length]).toEqual([[], 2]);
  expect(JSON.parse(text)).toMatchObject({ peer: hostileText, msg: hostileText });
  rmSync(dirname(path), { recursive: true });
});

test('debug lines are not even made while they are off, and can be switched on', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'cadastre-log-')), 'log');
  const log = jsonLog({ destination: { path } });
  let made = 0;
  const words = () => {
    made += 1;
    return 'chose a pool';
  };
  log.debug?.({ pool: 'p' }, words());
  expect([log.level, made]).toEqual(['info', 0]);
  log.level = 'debug';
  log.debug?.({ pool: 'p' }, words());
  log.level = 'error';
  log.warn({ pool: 'p' }, 'not written');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'debug', pool: 'p', msg: 'chose a pool' },
  ]);
  rmSync(dirname(path), { recursive: true });
});
