import fc from 'fast-check';
import { expect, test } from 'vitest';
import { smallest } from './smallest.ts';

test('is the beginning of the sorted list, equals in their order', () => {
  const item = fc.record({ key: fc.integer({ min: 0, max: 20 }), id: fc.nat() });
  fc.assert(
    fc.property(fc.array(item), fc.integer({ min: 1, max: 12 }), (items, count) => {
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(smallest(items, count, compare)).toEqual([...items].sort(compare).slice(0, count));
    }),
  );
});
