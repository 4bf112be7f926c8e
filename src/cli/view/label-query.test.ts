import { expect, test } from 'vitest';
import { selects } from '../../model/label-selector.ts';
import { readLabelQuery } from './label-query.ts';

test('a query selects as kubectl -l does', () => {
  const selector = readLabelQuery('rack in (82, 83),!zone,slot>5');
  expect(selects(selector, { rack: '83', slot: '7' })).toBe(true);
  expect(selects(selector, { rack: '83', slot: '7', zone: 'a' })).toBe(false);
  expect(selects(selector, { rack: '83', slot: '5' })).toBe(false);
});

test('one that cannot be read is refused with the part that is wrong', () => {
  expect(() => readLabelQuery('gpu,rack=a b')).toThrow(
    '--selector=gpu,rack=a b: "rack=a b" is no requirement',
  );
});
