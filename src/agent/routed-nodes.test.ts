import { expect, test } from 'vitest';
import { block, node, prefix } from '../../test/doctor/worlds.ts';
import { otherRoutedNodes } from './routed-nodes.ts';

const [a, b, c] = [node('a', '10.0.0.1'), node('b', '10.0.0.2'), node('c', '10.0.0.3')];
const blocks = [block('10.1.0.0/24', 'a'), block('10.1.1.0/24', 'b')];
const routed = (self: string, all = [a, b, c], held = blocks) =>
  otherRoutedNodes('register', self, () => all, held);

test('the others that hold blocks, and not the node itself', () => {
  expect(routed('a')).toEqual([
    {
      name: 'b',
      createdMs: b.createdMs,
      addresses: ['10.0.0.2'],
      blocks: [{ prefix: prefix('10.1.1.0/24') }],
    },
  ]);
  expect(routed('c').map(({ name }) => name)).toEqual(['a', 'b']);
});

test('what did not change is not made again, whoever asks', () => {
  const first = routed('a')[0];
  expect(routed('a', [a, b, c], [...blocks])[0]).toBe(first);
  expect(routed('c')[1]).toBe(first);
});

test('another block, another address and another node of the name are seen', () => {
  const before = routed('a')[0];
  const more = [...blocks, block('10.1.2.0/24', 'b')];
  expect(routed('a', [a, b, c], more)[0]?.blocks).toHaveLength(2);
  expect(routed('a')[0]).toEqual(before);
  const moved = { ...b, addresses: ['10.0.0.9'] };
  expect(routed('a', [a, moved, c])[0]?.addresses).toEqual(['10.0.0.9']);
  // Its blocks were those of an earlier node called b.
  expect(routed('a', [a, { ...b, uid: 'another' }, c])).toEqual([]);
});
