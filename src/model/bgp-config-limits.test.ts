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

test('of thousands of ranges the one that overlaps another pool is found', () => {
  const ranges = (net: number) =>
    Array.from({ length: 4_000 }, (_, i) => `10.${net}.${i >> 6}.${(i & 63) * 4}/30`);
  const pool = (name: string, addresses: string[]) =>
    `- {name: ${name}, protocol: bgp, addresses: [${addresses.join(', ')}]}\n`;
  const text = (last: string) =>
    `address-pools:\n${pool('a', ranges(1))}${pool('b', [...ranges(2), last])}`;
  expect(loadConfigMap(text('10.3.0.0/30'))).toMatchObject({ kind: 'config' });
  expect(loadConfigMap(text('10.1.40.9-10.1.40.10'))).toMatchObject({
    problems: [{ sentence: '10.1.40.9-10.1.40.10 overlaps 10.1.40.8/30 of pool a' }],
  });
});
