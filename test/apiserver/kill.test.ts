import { expect, test } from 'vitest';
import { seededRandom } from '../parts/seeded-random.ts';
import { killAgainAndAgain } from './kill.ts';

test('kill -9 in the middle of writes loses nothing acknowledged', async () => {
  const tally = await killAgainAndAgain({
    kills: 5,
    writers: 8,
    writesALife: 200,
    random: seededRandom(7),
    compactAboveBytes: 20_000,
  });
  console.log(`kill -9: ${JSON.stringify(tally)}`);
  expect(tally.broken).toEqual([]);
  expect(tally.kills).toBe(5);
  expect(tally.acknowledged).toBeGreaterThan(5);
  expect(tally.unanswered).toBeGreaterThan(0);
});
