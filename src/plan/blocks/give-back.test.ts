import { expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import type { OwnedBlock } from '../node/node-truth.ts';
import { PodAddressSpace } from '../pod-address/pod-address.ts';
import { nextReleases } from './give-back.ts';

/** `10.0.0.0/28: 3` is a block with that many pods; `!` before it means draining. */
function node(blocks: Record<string, number>) {
  const owned = Object.keys(blocks).map((text): OwnedBlock => {
    const cidr = text.replace('!', '');
    const isDraining = text.startsWith('!');
    return { prefix: parsePrefix(cidr)!, isDraining, pool: 'p', uid: `uid of ${cidr}` };
  });
  const space = new PodAddressSpace();
  space.setBlocks(owned);
  for (const [i, pods] of Object.values(blocks).entries()) {
    for (let n = 0; n < pods; n++) space.take(owned[i]!.prefix.first().plus(n + 2));
  }
  return { owned, use: space.use(0) };
}

test('an empty block beyond the demand is given back by the uid of its NodeBlock', () => {
  const { owned, use } = node({ '10.0.0.0/28': 3, '10.0.1.0/28': 0 });
  expect(nextReleases({ owned, use, before: [], demand: { ipv4: 8 } })).toEqual([
    { cidr: '10.0.1.0/28', uid: 'uid of 10.0.1.0/28' },
  ]);
  expect(nextReleases({ owned, use, before: [], demand: { ipv4: 20 } })).toEqual([]);
});

test('without demand only what drains and is empty is given back', () => {
  const { owned, use } = node({ '10.0.0.0/28': 0, '10.0.1.0/28': 0, '!10.0.2.0/28': 0 });
  expect(nextReleases({ owned, use, before: [], demand: undefined })).toMatchObject([
    { cidr: '10.0.2.0/28' },
  ]);
});

test('a release stays while its NodeBlock does, whatever the demand is now, and no longer', () => {
  const { owned, use } = node({ '10.0.0.0/28': 13, '10.0.1.0/28': 0 });
  const before = [
    { cidr: '10.0.1.0/28', uid: 'uid of 10.0.1.0/28' },
    { cidr: '10.0.0.0/28', uid: 'an older block of the same CIDR' },
  ];
  expect(nextReleases({ owned, use, before, demand: { ipv4: 64 } })).toEqual([before[0]]);
});

test('the last open block is not given back because the other one already was', () => {
  const { owned, use } = node({ '10.0.0.0/28': 0, '10.0.1.0/28': 0 });
  const before = [{ cidr: '10.0.0.0/28', uid: 'uid of 10.0.0.0/28' }];
  expect(nextReleases({ owned, use, before, demand: { ipv4: 1 } })).toEqual(before);
});
