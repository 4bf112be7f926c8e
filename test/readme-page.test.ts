import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ourModes } from '../src/model/modes.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/concepts.md'), 'utf8');

test('docs/concepts.md has a row for each mode that Cadastre runs in', () => {
  const [, after = ''] = page.split(/^\| mode /m);
  const [table = ''] = after.split('\n\n');
  const rows = [...table.matchAll(/^\| `([a-z0-9-]+)`/gm)].map(([, name]) => name);
  expect(rows).toEqual(ourModes.map(({ name }) => name));
});

test('the changelog begins with the version of the package', () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, '..', name), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const [, newest] = /^## (\S+)$/m.exec(read('CHANGELOG.md')) ?? [];
  expect(newest).toBe(version);
});
