import { expect, test } from 'vitest';
import { Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

function begin(isTerminal: boolean) {
  const said: string[] = [];
  let nowMs = 0;
  const terminal = {
    clock: { monotonicMs: () => nowMs, wallMs: () => nowMs },
    say: (line: string) => said.push(`line ${line}`),
    ...(isTerminal ? { overwrite: (text: string) => said.push(text) } : {}),
  } as unknown as Terminal;
  const progress = new Progress(terminal);
  return { said, progress, pass: (ms: number) => (nowMs += ms) };
}

test('nobody is told anything in the first two seconds', () => {
  const { said, progress, pass } = begin(true);
  progress.at('reading nodes');
  pass(1_999);
  progress.tick();
  progress.stop();
  expect(said).toEqual([]);
});

test('on a terminal one line is overwritten, and goes away', () => {
  const { said, progress, pass } = begin(true);
  progress.at('reading nodes');
  pass(2_000);
  progress.tick();
  pass(1_000);
  progress.at('reading pods');
  progress.stop();
  expect(said).toEqual(['reading nodes, 2 s', 'reading pods, 3 s', '']);
});

test('elsewhere a line comes now and then', () => {
  const { said, progress, pass } = begin(false);
  progress.at('reading nodes');
  for (let at = 0; at < 40; at++) {
    pass(1_000);
    progress.tick();
  }
  progress.stop();
  expect(said).toEqual(['line reading nodes, 15 s', 'line reading nodes, 30 s']);
});
