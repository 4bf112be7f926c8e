import { expect, test } from 'vitest';
import * as field from './field.ts';
import { ruled } from './schema.ts';
import { schemaProblems, withDefaults } from './schema-problems.ts';
import { shapeProblems } from './shape-problems.ts';

const schema = field.object(
  '',
  ['word'],
  {
    word: field.text('', { minLength: 1, maxLength: 5 }),
    phase: field.text('', { enum: ['On', 'Off'], default: 'On' }),
    code: field.text('', { pattern: '^[0-9]+$' }),
    at: field.time(),
    some: field.integer('', { minimum: 1, maximum: 9, default: 3 }),
    many: field.count(),
    any: field.integer(''),
    flag: field.flag('', { default: false }),
    words: field.list('', 2, field.text(''), { minItems: 1, 'x-kubernetes-list-type': 'set' }),
    rows: field.records(9, ['id'], { id: field.text('') }),
    labels: { type: 'object', additionalProperties: field.text('') },
  },
  ruled<{ word: string }>([{ rule: "self.word != 'no'" }], ({ word }, path) =>
    word === 'no' ? [`${path}.word is no`] : [],
  ),
);

test.each<[string, object, string]>([
  ['a field that is required', { word: null }, 'spec.word is missing'],
  ['another type', { word: 5 }, 'spec.word is 5, not a string'],
  ['an empty text', { word: '' }, 'spec.word is empty'],
  ['a long text', { word: 'abcdef' }, 'spec.word has 6 characters, more than 5'],
  ['no word of a list', { phase: 'Up' }, 'spec.phase is "Up", not one of On, Off'],
  ['another pattern', { code: 'x' }, 'spec.code is "x", which does not match ^[0-9]+$'],
  [
    'no time',
    { at: '2026-01-31' },
    'spec.at is "2026-01-31", not a time like 2026-01-31T12:00:00Z',
  ],
  ['a number beyond', { some: 10 }, 'spec.some is 10, not a whole number from 1 to 9'],
  ['a number below', { many: -1 }, 'spec.many is -1, not a whole number of at least 0'],
  ['half a number', { any: 0.5 }, 'spec.any is 0.5, not a whole number'],
  ['a flag in words', { flag: 'yes' }, 'spec.flag is "yes", not true or false'],
  ['no list', { words: 'a' }, 'spec.words is "a", not a list'],
  ['an empty list', { words: [] }, 'spec.words is empty'],
  ['a long list', { words: ['a', 'b', 'c'] }, 'spec.words has 3 entries, more than 2'],
  ['an entry twice', { words: ['a', 'a'] }, 'spec.words[1] repeats spec.words[0]'],
  ['an empty entry', { words: [null] }, 'spec.words[0] is empty'],
  ['a field of an entry', { rows: [{ id: 'a' }, {}] }, 'spec.rows[1].id is missing'],
  ['no map', { labels: ['a'] }, 'spec.labels is a list, not a map'],
  ['a key with dots', { labels: { 'a.b/c': 1 } }, 'spec.labels["a.b/c"] is 1, not a string'],
  ['a rule of its own', { word: 'no' }, 'spec.word is no'],
])('%s', (_, change, problem) => {
  expect(schemaProblems(schema, { word: 'yes', ...change }, 'spec')).toEqual([problem]);
});

test('characters are counted, not UTF-16 units, and null is the same as absent', () => {
  expect(schemaProblems(schema, { word: '🦊🦊🦊🦊🦊', at: null, words: null }, 'spec')).toEqual([]);
});

test('every problem is found at once; a rule waits until the rest is right', () => {
  expect(schemaProblems(schema, { word: 'no', flag: 1, many: 'x' }, 'spec')).toHaveLength(2);
});

test('a long value is cut in the sentence', () => {
  expect(schemaProblems(schema, { word: 'yes', phase: 'x'.repeat(99) }, 'spec')[0]).toHaveLength(
    94,
  );
});

test('defaults stand where nothing or null is given', () => {
  const value = withDefaults(schema, { word: 'yes', some: null, many: null, flag: true });
  expect(value).toEqual({ word: 'yes', phase: 'On', some: 3, flag: true });
});

test.each<[Parameters<typeof shapeProblems>[0], object, string[]]>([
  ['Node', {}, ['metadata is missing']],
  ['Node', { metadata: { name: 5 } }, ['metadata.name is 5, not a string']],
  ['Node', { metadata: { name: 'n' }, spec: { other: 1 } }, []],
  [
    'CiliumNode',
    { metadata: { name: 'n' }, spec: { ipam: { podCIDRs: '10.0.0.0/24' } } },
    ['spec.ipam.podCIDRs is "10.0.0.0/24", not a list'],
  ],
  [
    'ServiceCIDR',
    { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.1/12'] } },
    ['spec.cidrs[0] "10.96.0.1/12" has host bits set; the block is 10.96.0.0/12'],
  ],
  ['NodeReport', { metadata: { name: 'n' }, spec: { nodeUID: 'u', later: 1 } }, []],
  ['BlockHistory', { metadata: { name: 'blocks-00' } }, ['spec is missing']],
])('%s %j', (kind, object, problems) => {
  expect(shapeProblems(kind, object)).toEqual(problems);
});
