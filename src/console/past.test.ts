import { expect, test } from 'vitest';
import { manyNodes } from '../../test/console/many-site.ts';
import { rowsAsOf } from './past.ts';

const nowMs = Date.parse('2026-02-01T12:00:00Z');
const dayMs = 86_400_000;

test('as of now it is what is now; before the first block nothing', () => {
  const { evidence } = manyNodes(20, nowMs, false);
  const count = (atMs: number, kind: string) =>
    rowsAsOf(evidence, atMs).filter(([of]) => of === kind).length;
  expect([count(nowMs, 'block'), count(nowMs, 'node'), count(nowMs, 'finding')]).toEqual([
    20, 20, 0,
  ]);
  const longAgoMs = nowMs - 200 * dayMs;
  expect([count(longAgoMs, 'block'), count(longAgoMs, 'node')]).toEqual([0, 0]);
  const between = count(nowMs - 40 * dayMs, 'block');
  expect(between).toBeGreaterThan(0);
  expect(between).toBeLessThan(20);
});
