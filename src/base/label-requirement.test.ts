import { expect, test } from 'vitest';
import { meets, parseLabelQuery } from './label-requirement.ts';

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
  ['! zone', true],
  ['!old', false],
  ['old=', true],
  ['rack>82', true],
  ['rack > 83', false],
  ['rack<84', true],
  ['old<84', false],
  ['zone>1', false],
  ['rack=83,example.com/role=db,!zone', true],
])('%s: %s', (query, wanted) => {
  const read = parseLabelQuery(query);
  if ('wrong' in read) throw new Error(read.wrong);
  expect(read.every((requirement) => meets(requirement, labels))).toBe(wanted);
});

test.each([
  ['', ''],
  ['rack=83,', ''],
  ['rack in 83', 'rack in 83'],
  ['rack in (8 3)', 'rack in (8 3)'],
  ['rack>five', 'rack>five'],
  ['rack=a b', 'rack=a b'],
  ['gpu,-x=1', '-x=1'],
  ['a/b/c', 'a/b/c'],
  ['Example.com/rack', 'Example.com/rack'],
])('%j is refused, with the part that is wrong', (query, wrong) => {
  expect(parseLabelQuery(query)).toEqual({ wrong });
});
