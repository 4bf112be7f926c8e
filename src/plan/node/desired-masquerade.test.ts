import { expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import { desiredMasquerade } from './desired-masquerade.ts';
import type { RoutedNode } from './desired-routes.ts';

const node = (name: string, addresses: string[], ...blocks: string[]): RoutedNode => ({
  name,
  createdMs: 0,
  addresses,
  blocks: blocks.map((text) => ({ prefix: parsePrefix(text)! })),
});
const self = node('a', ['10.4.94.32'], '10.5.113.0/24');
const b = node('b', ['10.4.94.21', 'fd04::21'], '10.5.112.0/24', 'fd05::/64');
const texts = (input: Parameters<typeof desiredMasquerade>[0]) => {
  const { sources, exceptions } = desiredMasquerade(input);
  return { sources: sources.map(String), exceptions: exceptions.map(String) };
};

test('own blocks take the address of the node, except towards pods, nodes and what the user says', () => {
  const exceptions = [parsePrefix('10.0.0.0/16')!, parsePrefix('192.0.2.0/24')!];
  expect(texts({ self, others: [b], exceptions })).toEqual({
    sources: ['10.5.113.0/24'],
    exceptions: [
      '10.0.0.0/16',
      '10.4.94.21/32',
      '10.4.94.32/32',
      '10.5.112.0/24',
      '10.5.113.0/24',
      '169.254.0.0/16',
      '192.0.2.0/24',
      '224.0.0.0/4',
    ],
  });
});

test('an exception around others is said once; a family without a block is left alone', () => {
  const exceptions = [parsePrefix('10.0.0.0/8')!];
  expect(texts({ self, others: [b], exceptions }).exceptions).toEqual([
    '10.0.0.0/8',
    '169.254.0.0/16',
    '224.0.0.0/4',
  ]);
  expect(texts({ self: node('a', []), others: [b], exceptions })).toEqual({
    sources: [],
    exceptions: [],
  });
});
