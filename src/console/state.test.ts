import { expect, test } from 'vitest';
import type { BlockRow } from './rows.ts';
import { ConsoleState } from './state.ts';

const row = (cidr: string, node: string): BlockRow => ({
  cidr,
  pool: 'p',
  node,
  phase: 'Active',
  sinceMs: 0,
});

function stateWith(...cidrs: string[]): ConsoleState {
  const state = new ConsoleState({ epoch: 'e', notifyEveryMs: 1 });
  for (const cidr of cidrs) state.put('block', cidr, row(cidr, 'a'));
  return state;
}

test('a reader gets the sum of what it missed, the last of each row', () => {
  const state = stateWith('1', '2');
  const { at } = state;
  state.put('block', '1', row('1', 'b'));
  state.put('block', '3', row('3', 'c'));
  state.put('block', '1', row('1', 'd'));
  state.remove('block', '2');
  expect(state.since(at)?.changes).toEqual([
    ['block', '3', row('3', 'c')],
    ['block', '1', row('1', 'd')],
    ['block', '2', null],
  ]);
  expect(state.since(state.at)?.changes).toEqual([]);
});

test('what did not change is not told', () => {
  const state = stateWith('1');
  const { at } = state;
  state.put('block', '1', row('1', 'a'));
  state.remove('block', 'never there');
  expect(state.at).toBe(at);
});

test('the snapshot is everything, and the place from which changes go on', () => {
  const state = stateWith('1', '2');
  state.remove('block', '1');
  const { at, changes } = JSON.parse(state.snapshot());
  expect(changes).toEqual([['block', '2', row('2', 'a')]]);
  expect(at).toBe(state.at);
});

test.each(['other:1', 'e:-1', 'e:99', 'nonsense', '', 'e:x'])(
  'a place that is not in this stream begins anew: %j',
  (at) => {
    expect(stateWith('1').since(at)).toBeUndefined();
  },
);

test('what is forgotten begins anew; what is remembered goes on', () => {
  const state = stateWith();
  const first = state.at;
  for (let n = 0; n < 40_001; n++) state.put('block', '1', row('1', `n${n}`));
  expect(state.since(first)).toBeUndefined();
  const late = state.at;
  state.put('block', '1', row('1', 'last'));
  expect(state.since(late)?.changes).toEqual([['block', '1', row('1', 'last')]]);
});

test('putAll removes what is not named', () => {
  const state = stateWith('1', '2');
  state.putAll('block', new Map([['2', row('2', 'b')]]));
  expect(state.all('block')).toEqual([row('2', 'b')]);
});
