import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorCodes } from '../src/base/errors.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/errors.md'), 'utf8');

test('docs/errors.md explains every code, in the order and words of the source', () => {
  const sections = page.split(/^## /m).slice(1);
  const explained = sections.map((section) => {
    const [code = '', meaning = '', ...advice] = section.split(/\n\n/);
    expect(advice.join('').trim(), `${code} says what to do`).not.toBe('');
    return [code, meaning];
  });
  expect(Object.fromEntries(explained)).toEqual(errorCodes);
  expect(explained.map(([code]) => code)).toEqual(Object.keys(errorCodes));
});
