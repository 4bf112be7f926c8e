import { expect, test } from 'vitest';
import type { PoolCandidate } from './pool-candidates.ts';
import { whyPool } from './why-pool.ts';

function candidate(pool: string, more: Partial<PoolCandidate> = {}): PoolCandidate {
  return {
    pool,
    isSelecting: true,
    unmet: [],
    priority: 0,
    specificity: 0,
    obstacle: undefined,
    families: [{ family: 'ipv4', blockSize: 24, capacity: 4, free: 2 }],
    ...more,
  };
}

const full = [{ family: 'ipv4' as const, blockSize: 24, capacity: 4, free: 0 }];
const disabled = { reason: 'PoolDisabled' as const, detail: 'pool a is disabled' };

test.each([
  ['alone', [candidate('b')], 'the only pool that selects it'],
  [
    'the others do not count',
    [candidate('b'), candidate('c', { isSelecting: false })],
    'the only pool that selects it',
  ],
  ['priority', [candidate('b', { priority: 5 }), candidate('c')], 'priority 5 before c with 0'],
  [
    'specificity',
    [candidate('b', { specificity: 2 }), candidate('c', { specificity: 1 })],
    'a more specific selector than c',
  ],
  ['name', [candidate('b'), candidate('c')], 'by name before c'],
  [
    'fallen through',
    [candidate('a', { families: full }), candidate('b')],
    'the last pool that selects it; a: PoolExhausted',
  ],
  [
    'passed over',
    [candidate('a', { obstacle: disabled }), candidate('b'), candidate('c')],
    'by name before c; a: PoolDisabled',
  ],
])('why pool b: %s', (_, candidates, words) => {
  expect(whyPool(candidates, 'b')).toBe(words);
});
