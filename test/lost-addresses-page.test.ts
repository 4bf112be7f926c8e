import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasTest, missingTests, namedTests } from './named-tests.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/lost-addresses.md'), 'utf8');

/** Number, what happened, what keeps it from happening here, and the tests that show it. */
const stories = page
  .split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, number, story, answer, shown = '']) => ({
    number: Number(number),
    story,
    answer,
    tests: namedTests(shown),
  }));

test('docs/lost-addresses.md tells all fifteen stories, each with its answer', () => {
  expect(stories.map(({ number }) => number)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
  for (const { story, answer } of stories) {
    expect(story).not.toBe('');
    expect(answer).not.toBe('');
  }
});

describe('every test that the page names is there', () => {
  test.each(stories)('for story $number', ({ tests }) => {
    expect(missingTests(tests)).toEqual([]);
  });

  test('and one that is not would be missed', () => {
    expect(hasTest("test('a block stays', () => {})", 'a block stays')).toBe(true);
    expect(hasTest("test('a block stays', () => {})", 'a block')).toBe(false);
    expect(hasTest("// 'a block stays'", 'a block stays')).toBe(false);
  });
});
