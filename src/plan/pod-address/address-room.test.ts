import { expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import { addressRoom } from './address-room.ts';
import { PodAddressSpace } from './pod-address.ts';

/** `10.0.0.0/24: 15` is a block with that many pods; `!` before it means draining. */
function room(blocks: Record<string, number>, wasFull = false) {
  const space = new PodAddressSpace();
  const all = Object.entries(blocks).map(([text, pods]) => {
    const prefix = parsePrefix(text.replace('!', ''))!;
    return { prefix, pods, isDraining: text.startsWith('!') };
  });
  space.setBlocks(all);
  for (const { prefix, pods } of all) {
    for (let i = 0; i < pods; i++) space.take(prefix.first().plus(2 + i));
  }
  return addressRoom(space.use(0), wasFull);
}

test.each<[Record<string, number>, boolean]>([
  [{ '10.0.0.0/24': 248 }, false],
  [{ '10.0.0.0/24': 249 }, true],
  [{ '10.0.0.0/30': 0 }, false],
  [{ '10.0.0.0/30': 1 }, true],
  [{ '10.0.0.0/24': 253, '10.0.1.0/24': 0 }, false],
  [{ '10.0.0.0/24': 253, '!10.0.1.0/24': 0 }, true],
  [{ '10.0.0.0/24': 0, 'fd00::/124': 13 }, true],
  [{ '!10.0.0.0/24': 3 }, false],
])('%j is full: %s', (blocks, isFull) => {
  expect(room(blocks).isFull).toBe(isFull);
});

test('says how many are left, and of how many', () => {
  expect(room({ '10.0.0.0/24': 253 }).detail).toBe(
    '0 of 253 IPv4 addresses of 10.0.0.0/24 are free, 0 cool down; pods that run are not affected',
  );
});

test('a full node has room again only at twice the reserve', () => {
  expect(room({ '10.0.0.0/24': 245 }, true).isFull).toBe(true);
  expect(room({ '10.0.0.0/24': 244 }, true).isFull).toBe(false);
  expect(room({ '10.0.0.0/29': 4 }, true).isFull).toBe(false);
});
