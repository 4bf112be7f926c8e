/** docs/reference.md is what the schemas say; docs/resources.md explains every kind. */
import { describe, expect, test } from 'vitest';
import { referencePage } from '../scripts/reference.mjs';
import { definitions } from '../src/model/crds.ts';
import { readPage } from './docs-text.ts';

/** Biome aligns tables; that is no difference. */
const unaligned = (text: string) => text.replace(/ {2,}/g, ' ').replace(/-{3,}/g, '---');

describe('docs/reference.md', () => {
  test('is what `npm run reference` makes of the schemas', () => {
    expect(unaligned(readPage('docs/reference.md'))).toBe(unaligned(referencePage(definitions)));
  });

  test('has fields, limits, defaults and rules', () => {
    const page = unaligned(readPage('docs/reference.md'));
    for (const line of [
      '| `spec.holdSeconds` | integer, 0 to 65535 | `9` |',
      '| `spec.nodeSelector` | label selector | – |',
      '- `spec.blockSize`: blockSize is fixed',
    ]) {
      expect(page).toContain(line);
    }
  });
});

test.each(Object.keys(definitions))('docs/resources.md says what a %s is', (kind) => {
  expect(readPage('docs/resources.md')).toMatch(new RegExp(`\\b${kind}\\b`));
});
