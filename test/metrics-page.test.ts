import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('docs/metrics.md names every metric in the code, and no other', () => {
  const inCode = new Set<string>();
  for (const entry of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.ts') || entry.endsWith('.test.ts')) continue;
    const source = readFileSync(`src/${entry}`, 'utf8');
    for (const [, name] of source.matchAll(/['`](cadastre_[a-z_]+)/g)) {
      // The pools' gauges are made from one pattern.
      if (name !== 'cadastre_pool_blocks_') inCode.add(name!);
      else for (const what of ['capacity', 'assigned', 'free', 'cooling']) inCode.add(name + what);
    }
  }
  const page = readFileSync('docs/metrics.md', 'utf8');
  const onPage = new Set([...page.matchAll(/^\| `(cadastre_[a-z_]+)`/gm)].map(([, name]) => name!));
  expect(inCode.size).toBeGreaterThan(15);
  expect([...onPage].sort()).toEqual([...inCode].sort());
});
