import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../docs/decisions');
const files = readdirSync(folder).filter((name) => name !== 'README.md');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const titleOf = (text: string) => /^# (\d+)\. (.+)$/m.exec(text)?.slice(1) ?? [];

describe('a decision', () => {
  test.each(files)('%s has a number, a title, a version and the three headings', (name) => {
    const text = read(name);
    const [number = '', title = ''] = titleOf(text);
    expect(name.slice(0, 4)).toBe(number.padStart(4, '0'));
    expect(title).not.toBe('');
    expect(text).toMatch(/^# .+\n\nSince version \d+\.\d+\.\d+\.\n\n## Situation\n/);
    const headings = [...text.matchAll(/^## (.+)\n\n(\S)/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Situation', 'Choice', 'What we gave up']);
  });
});

test('the index lists every decision in order, by its own title', () => {
  const listed = [...read('README.md').matchAll(/^(\d+)\. \[(.+)\]\((.+)\)$/gm)];
  const decisions = files.map((name) => [...titleOf(read(name)), name]);
  expect(listed.map(([, number, title, file]) => [number, title, file])).toEqual(decisions);
  expect(decisions.map(([number]) => Number(number))).toEqual(files.map((_, at) => at + 1));
});
