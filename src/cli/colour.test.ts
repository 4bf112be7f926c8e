import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { colourised, wantsColour } from './colour.ts';

const report = `Checked 3 nodes, 3 blocks, 8 routes: 8 findings (1 critical, 7 warning).

SOURCE  AGE  HOLDS
nodes   now  3 Nodes
not seen: register: no NodeBlock: Cadastre allocates nothing here

Blackhole (1): No router has a route to a node's block.
  10.5.115.0/24 of master2  [critical]
      hurt now: master2
  cure: upgrade
`;

test('colour changes no letter and no column', () => {
  expect(stripVTControlCharacters(colourised(report))).toBe(report);
});

test('what is critical stands out', () => {
  const painted = colourised(report);
  expect(painted).toContain('\u001b[1;31m[critical]\u001b[0m');
  expect(painted).toContain('\u001b[1;31m1 critical\u001b[0m');
  expect(painted).toContain('\u001b[2mSOURCE  AGE  HOLDS\u001b[0m');
  expect(painted).toContain('\u001b[1mBlackhole (1)\u001b[0m:');
});

test.each<[Record<string, string>, boolean, boolean]>([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ TERM: 'dumb' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
])('with %j on a terminal (%s): %s', (env, isTerminal, expected) => {
  expect(wantsColour(env, isTerminal)).toBe(expected);
});
