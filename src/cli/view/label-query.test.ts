import { expect, test } from 'vitest';
import { selects } from '../../model/label-selector.ts';
import { readLabelQuery } from './label-query.ts';

const labels = { rack: '83', 'example.com/role': 'db', old: '' };

test.each([
  ['rack=83', true],
  ['rack==83', true],
  ['rack = 83', true],
  ['rack=94', false],
  ['rack!=94', true],
  ['rack!=83', false],
  ['zone!=a', true],
  ['rack in (82, 83)', true],
  ['rack in (82,94),old', false],
  ['rack notin (82,94),old', true],
  ['example.com/role in (db)', true],
  ['zone notin (a)', true],
  ['old', true],
  ['zone', false],
  ['!zone', true],
  ['!old', false],
  ['old=', true],
  ['rack=83,example.com/role=db,!zone', true],
])('%s: %s', (query, wanted) => {
  expect(selects(readLabelQuery(query), labels)).toBe(wanted);
});

test.each([
  ['', '"" is no requirement'],
  ['rack=83,', '"" is no requirement'],
  ['rack in 83', '"rack in 83" is no requirement'],
  ['rack>5', 'not a label key'],
  ['rack=a b', '"rack=a b" is no requirement'],
  ['-x=1', 'not a label key'],
])('%j is refused', (query, words) => {
  expect(() => readLabelQuery(query)).toThrow(words);
});
