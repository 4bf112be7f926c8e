import { expect, test } from 'vitest';
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { podsOutside } from './pods-outside.ts';

const pod = (who: string, ...addresses: string[]) => ({
  who,
  addresses: addresses.map((text) => parseAddress(text)!),
});
const blocks = ['10.5.113.0/24', 'fd00::/64'].map((text) => ({ prefix: parsePrefix(text)! }));

test('whoever lives in the blocks is not spoken of; who does not is named with what he lost', () => {
  const inside = pod('a/b', '10.5.113.7', 'fd00::7');
  expect(podsOutside('n1', [inside], blocks)).toEqual([]);
  const [found, ...more] = podsOutside('n1', [inside, pod('c/d', '10.5.114.7', 'fd00::8')], blocks);
  expect(more).toEqual([]);
  expect(found).toMatchObject({
    reason: 'PodsOutsideBlocks',
    nodes: ['n1'],
    detail: expect.stringMatching(/^10\.5\.114\.7 of c\/d: of no block that n1 holds/),
  });
});

test('without any block all are outside, and the sentence stays short', () => {
  const many = Array.from({ length: 200 }, (_, i) => pod(`ns/${i}`, `10.5.113.${i}`));
  const [found] = podsOutside('n1', many, []);
  expect(found?.detail).toContain('and 195 more');
  expect(found?.detail.length).toBeLessThan(1024);
});
