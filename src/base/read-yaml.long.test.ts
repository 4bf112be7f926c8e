import { expect, test } from 'vitest';
import { LineCounter } from 'yaml';
import { hostileYaml } from '../../test/hostile/hostile-yaml.ts';
import { readYamlDocument } from './read-yaml.ts';

const texts = hostileYaml();
const deep = 'more than 100 levels of nesting';
const many = 'more than 120,000 tokens of YAML';

const refusals: Array<[string, string]> = [
  ['open brackets', `1: ${deep}`],
  ['open braces', `1: ${deep}`],
  ['lists in lists', `1: ${deep}`],
  ['keys of keys', `1: ${deep}`],
  ['mappings in a line', `1: ${deep}`],
  ['an indented staircase', `102: ${deep}`],
  ['keys', `17143: ${many}`],
  ['keys in braces', `1: ${many}`],
  ['tags', `17143: ${many}`],
  ['anchors', `17143: ${many}`],
  ['aliases of one anchor', `30000: ${many}`],
  ['an alias for each anchor', `17143: ${many}`],
  ['aliases of aliases', '6: aliases (*name) that add more than 100,000 values'],
  ['a chain of aliases', '101: more than 100 levels of nesting by its aliases (*name)'],
  ['merges of merges', '6: aliases (*name) that add more than 100,000 values'],
  ['an alias of itself', '1: an alias (*name) inside of what it names'],
  ['quotes', '1: Unexpected double-quoted-scalar at node end'],
  ['escapes that are none', '1: a backslash in double quotes before what is no escape sequence'],
  ['commas', `1: ${many}`],
  ['closing brackets', `1: ${many}`],
  ['documents', '2: more than one document'],
  ['directives', '101: more than 100 directives (%)'],
  ['an ordered mapping', `13335: ${many}`],
  ['lists as keys', '1: a key that is a list, a mapping or an alias'],
];

test.each(refusals)('%s are refused, with the limit and the line', (name, said) => {
  const lines = new LineCounter();
  const [error] = readYamlDocument(texts[name] ?? '', lines).document.errors;
  expect(error && `${lines.linePos(error.pos[0]).line}: ${error.message}`).toBe(said);
});

test('every hostile text has its refusal here', () => {
  expect(refusals.map(([name]) => name)).toEqual(Object.keys(texts));
});
