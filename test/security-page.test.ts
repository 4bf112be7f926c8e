import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { missingTests, namedTests } from './named-tests.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/security.md'), 'utf8');
const rows = page
  .split('\n## What holds it\n')[1]!
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('` › '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, what = '', held = '']) => ({ what, held: namedTests(held) }));

describe('docs/security.md names tests that are there', () => {
  test('for every promise', () => {
    expect(rows.length).toBeGreaterThan(15);
  });

  test.each(rows)('$what', ({ held }) => {
    expect(missingTests(held)).toEqual([]);
  });
});
