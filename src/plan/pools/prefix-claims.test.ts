import { expect, test } from 'vitest';
import { readPool } from '../../model/ip-pool.ts';
import { readNode } from '../../model/node.ts';
import { readBlock, writeBlock } from '../../model/node-block.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { Register } from '../blocks/register.ts';
import { prefixClaims } from './prefix-claims.ts';

const prefix = (text: string) => parsePrefix(text)!;

function register(): Register {
  const made = new Register(['spec']);
  const spec = { cidrs: ['10.0.0.0/16'], blockSize: { ipv4: 24 }, reserved: ['10.0.9.0/24'] };
  const pool = readPool({ metadata: { name: 'p' }, spec });
  if (pool.kind === 'pool') made.putPool(pool.pool);
  for (const [name, cidr] of [
    ['a', '10.0.1.0/24'],
    ['b', '10.0.2.0/24'],
  ] as const) {
    made.putNode(readNode({ metadata: { name }, spec: { podCIDRs: [cidr] } }));
  }
  // What a holds is registered; what its record says belongs to nobody else.
  const block = { prefix: prefix('10.0.3.0/24'), pool: 'p', nodeName: 'a', nodeUid: '' };
  const read = readBlock(writeBlock(block));
  if (read.kind === 'block') made.putBlock(read.block);
  return made;
}

test.each([
  ['10.0.3.7/32', ['10.0.3.0/24'], [], false],
  ['10.0.1.0/24', [], ['a 10.0.1.0/24 spec'], false],
  ['10.0.2.128/25', [], ['b 10.0.2.0/24 spec'], false],
  ['10.0.0.0/22', ['10.0.3.0/24'], ['a 10.0.1.0/24 spec', 'b 10.0.2.0/24 spec'], false],
  ['10.0.9.5/32', [], [], false],
  ['10.0.4.0/24', [], [], true],
])('%s', (text, blocks, records, isFree) => {
  const land = prefixClaims(register(), prefix(text));
  expect(land.blocks.map((block) => block.prefix.toString())).toEqual(blocks);
  expect(land.records.map(({ node, cidr, source }) => `${node} ${cidr} ${source}`)).toEqual(
    records,
  );
  expect(land.isFree).toBe(isFree);
  expect(land.pools.map(({ pool, cidr }) => `${pool} ${cidr}`)).toEqual(['p 10.0.0.0/16']);
});

test('what a pool reserves is named with the pool; land of no pool has none', () => {
  const { reserved } = prefixClaims(register(), prefix('10.0.8.0/23'));
  expect(reserved.map(({ pool, cidr }) => `${pool} ${cidr}`)).toEqual(['p 10.0.9.0/24']);
  expect(prefixClaims(register(), prefix('172.16.0.0/12'))).toMatchObject({
    pools: [],
    isFree: true,
  });
});
