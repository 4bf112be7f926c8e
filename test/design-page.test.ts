import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crds, definitions } from '../src/model/crds.ts';
import { modes } from '../src/model/modes.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/DESIGN.md'), 'utf8');

test('docs/DESIGN.md shows the table of modes as it is', () => {
  const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` +\| (yes|no) .*\|$/gm)].map(([row]) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const table = Object.values(modes).map((mode) => [
    `\`${mode.name}\``,
    mode.allocates ? 'yes' : 'no',
    mode.pools,
    mode.byDemand ? 'as many as it needs' : 'one of each family',
    mode.truth,
    mode.truthBefore,
    mode.projections.join(', ') || '–',
  ]);
  expect(rows).toEqual(table);
});

test('docs/DESIGN.md names every resource with its short name', () => {
  const [, nouns = ''] = page.split(/^## The nouns/m);
  for (const { resource, shortName } of Object.values(definitions)) {
    expect(nouns).toContain(`**${resource.kind}** (\`${shortName}\`)`);
  }
  expect(crds.length).toBe(Object.keys(definitions).length);
});

test("docs/DESIGN.md has a row for each of the operator's queues", () => {
  const text = ['assemble-operator', 'load-balancer']
    .map((name) => readFileSync(`src/operator/${name}.ts`, 'utf8'))
    .join();
  const made = [...text.matchAll(/\bqueue\('([a-z-]+)'|WorkQueue\(\{[^}]*name: '([a-z-]+)'/g)];
  const [, after = ''] = page.split(/^\| queue /m);
  const [table = ''] = after.split('\n\n');
  const drawn = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);
  expect(drawn).toEqual(made.map(([, one, other]) => one ?? other));
  expect(drawn).toHaveLength(5);
});
