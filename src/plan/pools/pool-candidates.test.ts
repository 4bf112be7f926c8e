import { expect, test } from 'vitest';
import { readPool } from '../../model/ip-pool.ts';
import { readNode } from '../../model/node.ts';
import { Register } from '../blocks/register.ts';
import { poolCandidates } from './pool-candidates.ts';

function pool(name: string, spec: object) {
  const read = readPool({ metadata: { name }, spec: { blockSize: { ipv4: 24 }, ...spec } });
  if (read.kind === 'malformed') throw new Error(read.problems.join());
  return read.pool;
}

test('pools that select the node come first, in the order of choice; each says what is in the way', () => {
  const register = new Register([]);
  const rack = (value: string) => ({ nodeSelector: { matchLabels: { rack: value } } });
  register.putPool(pool('other', { cidrs: ['10.3.0.0/16'], ...rack('94') }));
  register.putPool(pool('any', { cidrs: ['10.0.0.0/23'] }));
  register.putPool(pool('own', { cidrs: ['10.1.0.0/24'], ...rack('83') }));
  register.putPool(pool('first', { cidrs: ['10.2.0.0/16'], priority: 1, disabled: true }));
  const node = readNode({ metadata: { name: 'n', labels: { rack: '83' } } });
  const found = poolCandidates(register)(node);
  expect(found.map(({ pool: name, isSelecting }) => [name, isSelecting])).toEqual([
    ['first', true],
    ['own', true],
    ['any', true],
    ['other', false],
  ]);
  expect(found[0]?.obstacle?.reason).toBe('PoolDisabled');
  expect(found[2]?.families).toEqual([{ family: 'ipv4', blockSize: 24, capacity: 2, free: 2 }]);
  expect(found[3]?.unmet).toEqual(['wants rack=94, has rack=83']);
});
