import { expect, test } from 'vitest';
import { loadConfigMap, loadConfigMapObject } from './bgp-config-map.ts';

const refused = (sentence: string) => ({
  kind: 'refused',
  problems: [{ line: 1, key: '', sentence: `not YAML: ${sentence}` }],
});

test('a ConfigMap of brackets is refused, and does not end the operator and every agent', () => {
  const text = '['.repeat(1_000_000);
  const said = refused('more than 100 levels of nesting');
  expect(loadConfigMapObject({ data: { 'config.yaml': text } })).toEqual(said);
  expect(loadConfigMap(text)).toEqual(said);
});

test('a mapping that merges itself is refused', () => {
  expect(loadConfigMapObject({ data: { config: 'peers: [&a {<<: *a}]' } })).toEqual(
    refused('an alias (*name) inside of what it names'),
  );
});

test('merges that multiply are refused', () => {
  const level = (at: number) => `- &a${at} {<<: [${`*a${at - 1}, `.repeat(10)}]}\n`;
  const text = `peers:\n- &a0 {x: 1}\n${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(level).join('')}`;
  const result = loadConfigMapObject({ data: { config: text } });
  expect(result).toMatchObject({
    problems: [{ line: 7, sentence: expect.stringContaining('more than 100,000 values') }],
  });
});
