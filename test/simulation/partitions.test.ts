import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../parts/random.ts';
import { anyHistory, emptyTally, live } from './history.ts';

test('no address is reachable in two places, and an API server that is down takes no route away', () => {
  const tally = emptyTally();
  fc.assert(
    fc.property(anyHistory(20), (history) => live(history, tally)),
    { numRuns: runs(150) },
  );
  // Blocks were really released, and by whom.
  expect([...tally.released.keys()].sort()).toEqual(['Fenced', 'Routers', 'Time']);
}, 600_000);
