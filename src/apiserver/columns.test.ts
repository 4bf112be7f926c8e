import { describe, expect, test } from 'vitest';
import { humanDuration, jsonPathReader } from './columns.ts';
import type { KubeObject } from './object.ts';

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

test.each([
  [-5 * second, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119 * second, '119s'],
  [120 * second, '2m'],
  [150 * second, '2m30s'],
  [10 * 60 * second, '10m'],
  [179 * 60 * second, '179m'],
  [3 * hour, '3h'],
  [3.5 * hour, '3h30m'],
  [8.5 * hour, '8h'],
  [47 * hour, '47h'],
  [2 * day, '2d'],
  [2 * day + 3 * hour, '2d3h'],
  [8 * day, '8d'],
  [729 * day, '729d'],
  [730 * day, '2y'],
  [731 * day, '2y1d'],
  [3000 * day, '8y'],
])('%d ms is %s', (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});

describe('the paths of printer columns', () => {
  const object = {
    metadata: { annotations: { 'ex.dev/note': 'hello' } },
    spec: {
      list: [
        { name: 'a', n: 1 },
        { name: 'b', n: 2 },
      ],
    },
    status: {
      conditions: [
        { type: 'Up', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
    },
  } as unknown as KubeObject;

  test.each([
    ['.spec.list[0].name', ['a']],
    ['.spec.list[-1].name', ['b']],
    ['.spec.list[*].name', ['a', 'b']],
    ['{.spec.list[1].n}', [2]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Up')].status", ['False']],
    ['.status.conditions[?(@.type!="Up")].type', ['Ready']],
    [String.raw`.metadata.annotations.ex\.dev/note`, ['hello']],
    [".metadata.annotations['ex.dev/note']", ['hello']],
    ['.spec.none.at.all', []],
    ['nonsense[', []],
  ])('%s', (path, found) => {
    expect(jsonPathReader(path)(object)).toEqual(found);
  });
});
