/** Which suites of `npm test` run beside which. */
import { expect, test } from 'vitest';
import { runSideBySide } from '../scripts/side-by-side.mjs';
import type { Suite } from '../scripts/suites.mjs';

const computing = (name: string): Suite => ({ name, what: '' });
const waiting = (name: string): Suite => ({ name, what: '', usesRealParts: true });

/** Runs them, the one that was started first ends first, and notes who ran with whom. */
async function pairs(suites: Suite[], places = 2, isOver = () => false): Promise<string[]> {
  const seen: string[] = [];
  const running = new Map<string, () => void>();
  const over = runSideBySide(suites, {
    places,
    isOver,
    run: ({ name }) => new Promise((resolve) => running.set(name, resolve)),
  });
  let isDone = false;
  void over.then(() => {
    isDone = true;
  });
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isDone) return seen;
    seen.push([...running.keys()].join('+'));
    const [name, end] = [...running][0]!;
    running.delete(name);
    end();
  }
}

test('one that computes has one beside it that waits; then two that wait', async () => {
  const suites = [computing('lint'), computing('unit'), ...['a', 'b', 'c', 'd'].map(waiting)];
  expect(await pairs(suites)).toEqual(['lint+a', 'a+unit', 'unit+b', 'b+c', 'c+d', 'd']);
});

test('two that compute never run at the same time: each has a worker for each core', async () => {
  const suites = [computing('lint'), computing('types'), computing('unit')];
  expect(await pairs(suites)).toEqual(['lint', 'types', 'unit']);
});

test('in one place one runs at a time, in order', async () => {
  expect(await pairs([computing('lint'), waiting('a'), computing('unit')], 1)).toEqual([
    'lint',
    'a',
    'unit',
  ]);
});

test('after an interruption what runs is waited for, and nothing is started', async () => {
  let asked = 0;
  const suites = [computing('lint'), waiting('a'), computing('unit'), waiting('b')];
  expect(await pairs(suites, 2, () => ++asked > 2)).toEqual(['lint+a', 'a']);
});
