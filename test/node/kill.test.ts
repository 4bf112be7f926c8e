import { afterAll, expect, test } from 'vitest';
import { sweepNamespaces } from '../kernel/namespaces.ts';
import { killOften } from './kills.ts';

/** `npm run soak -- kill-agent` does it a thousand times. */
const kills = 15;

afterAll(async () => {
  await sweepNamespaces({ isOver: true });
});

test(`${kills} times kill -9 under parallel ADD and DEL: no address twice, none left, no interface left`, async () => {
  const figures = await killOften(kills);
  expect(figures).toMatchObject({ leftAddresses: [], leftInterfaces: [] });
  expect(figures.added).toBeGreaterThan(kills / 2);
  expect(figures.refused, 'no kill ever hit an ADD').toBeGreaterThan(0);
}, 300_000);
