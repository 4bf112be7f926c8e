import { describe, expect, test } from 'vitest';
import { age, jsonPathReader } from './columns.ts';
import type { ApiObject } from './object.ts';

test('an age as kubectl shows it: unknown, of the future, or in figures', () => {
  const nowMs = Date.parse('2026-01-31T12:00:00Z');
  expect(age(undefined, nowMs)).toBe('<unknown>');
  expect(age('2026-01-31T12:00:05Z', nowMs)).toBe('<invalid>');
  expect(age('2026-01-31T12:00:01Z', nowMs)).toBe('0s');
  expect(age('2026-01-31T11:57:30Z', nowMs)).toBe('2m30s');
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
  } as unknown as ApiObject;

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
