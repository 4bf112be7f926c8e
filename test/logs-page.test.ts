import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { logFields } from '../src/base/log-fields.ts';

test('docs/logs.md names every field of a log line, in the same words, and no other', () => {
  const page = readFileSync('docs/logs.md', 'utf8');
  const [, table = ''] = page.split('\n## Fields\n');
  const rows = [...table.matchAll(/^\| `(\w+)` *\| (.*?) *\|$/gm)].map(([, name, what]) => [
    name,
    what,
  ]);
  expect(rows.length).toBeGreaterThan(30);
  expect(rows).toEqual(Object.entries(logFields));
});
