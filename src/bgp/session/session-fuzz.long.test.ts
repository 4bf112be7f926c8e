import { expect, test } from 'vitest';
import { loadCorpus, Mutator, Random } from '../../../test/soak/bgp-codec/mutator.ts';
import { fuzzSessions } from '../../../test/soak/bgp-session/live-fuzz.ts';

test('3,000 damaged messages through live sessions, each with the outcome the codec foretells', async () => {
  const report = await fuzzSessions(new Mutator(loadCorpus(), new Random(11)), 3000);
  expect(report.messages).toBe(3000);
  // Resets with a NOTIFICATION of every kind, a quiet end, and sessions that outlive their batch.
  expect(Object.keys(report.outcomes)).toEqual(
    expect.arrayContaining(['1/1', '1/2', '1/3', '2/0', '3/1', '3/10', '5/3', 'closed']),
  );
}, 120_000);
