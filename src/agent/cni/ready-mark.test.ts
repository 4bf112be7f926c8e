import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ReadyMark, readyGraceMs } from './ready-mark.ts';

let folder: string;
let nowMs = 1_800_000_000_000;
const clock = { wallMs: () => nowMs };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ready-mark-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('is fresh for the grace after the last time, also for the next process', () => {
  const path = join(folder, 'agent.sock');
  expect(new ReadyMark(path, clock).isFresh).toBe(false);
  new ReadyMark(path, clock).touch();
  nowMs += readyGraceMs - 1;
  expect(new ReadyMark(path, clock).isFresh).toBe(true);
  nowMs += 1;
  expect(new ReadyMark(path, clock).isFresh).toBe(false);
  // A clock that was set back: nobody knows how old it is.
  nowMs -= 2 * readyGraceMs;
  expect(new ReadyMark(path, clock).isFresh).toBe(false);
});

test('a folder that is not there is no error', () => {
  const mark = new ReadyMark(join(folder, 'none/agent.sock'), clock);
  mark.touch();
  expect(mark.isFresh).toBe(false);
});
