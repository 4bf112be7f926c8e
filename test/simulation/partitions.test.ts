import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../parts/random.ts';
import { anyHistory, emptyTally, live } from './history.ts';

test('no address is reachable in two places, and an API server that is down takes no route away', () => {
  const tally = emptyTally();
  fc.assert(
    fc.property(anyHistory(30), (history) => live(history, tally)),
    { numRuns: runs(300) },
  );
  // The histories are worth something: blocks were released, by more than one kind of witness.
  expect([...tally.released.keys()].sort()).toEqual(['Fenced', 'Routers', 'Time']);
});
