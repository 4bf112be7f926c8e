import { describe, expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import { PodAddressSpace } from './pod-address.ts';
import { blocksToGiveBack, podDemand, useLines } from './pod-address-demand.ts';

/** `10.0.0.0/24: 15` is a block with that many pods; `!` before it means draining. */
function node(blocks: Record<string, number>): PodAddressSpace {
  const space = new PodAddressSpace();
  space.setBlocks(
    Object.keys(blocks).map((text) => ({
      prefix: parsePrefix(text.replace('!', ''))!,
      isDraining: text.startsWith('!'),
    })),
  );
  for (const [text, pods] of Object.entries(blocks)) {
    const first = parsePrefix(text.replace('!', ''))!.first();
    for (let i = 0; i < pods; i++) space.take(first.plus(i + 2));
  }
  return space;
}

test('the status line counts as people do: a /24 has 254, the gateway is one of the allocated', () => {
  const space = node({ '10.5.113.0/24': 15, '!10.5.114.0/28': 2, 'fd00::/120': 0 });
  expect(useLines(space.use(0))).toEqual([
    'IPv4: 16/254 allocated from 10.5.113.0/24',
    'IPv4: 3/14 allocated from 10.5.114.0/28 (draining)',
    'IPv6: 1/254 allocated from fd00::/120',
  ]);
});

describe('demand', () => {
  test('follows the rule of demand, a family at a time', () => {
    const use = node({ '10.0.0.0/24': 9, 'fd00::/64': 0 }).use(0);
    expect(podDemand(use, 8)).toEqual({ ipv4: 24, ipv6: 8 });
  });

  test.each<[string, Record<string, number>, number, string[]]>([
    ['the last block stays', { '10.0.0.0/28': 0 }, 1, []],
    ['an empty one goes', { '10.0.0.0/28': 3, '10.0.1.0/28': 0 }, 4, ['10.0.1.0/28']],
    ['the last of several empty ones', { '10.0.0.0/28': 0, '10.0.1.0/28': 0 }, 4, ['10.0.1.0/28']],
    ['what the demand needs stays', { '10.0.0.0/28': 13, '10.0.1.0/28': 0 }, 8, []],
    ['draining and empty goes', { '10.0.0.0/28': 9, '!10.0.1.0/28': 0 }, 64, ['10.0.1.0/28']],
    ['draining with pods stays', { '10.0.0.0/28': 9, '!10.0.1.0/28': 1 }, 4, []],
  ])('%s', (_, blocks, preAllocate, back) => {
    const use = node(blocks).use(0);
    expect(blocksToGiveBack(use, podDemand(use, preAllocate)).map(String)).toEqual(back);
  });

  test('a block in which something rests is not empty', () => {
    const space = node({ '10.0.0.0/28': 1, '10.0.1.0/28': 1 });
    space.release(parsePrefix('10.0.1.0/28')!.first().plus(2), 0, 1000);
    const back = (nowMs: number) => blocksToGiveBack(space.use(nowMs), { ipv4: 4 }).map(String);
    expect(back(0)).toEqual([]);
    expect(back(1000)).toEqual(['10.0.1.0/28']);
  });
});
