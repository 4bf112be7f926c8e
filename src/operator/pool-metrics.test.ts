import { expect, test } from 'vitest';
import { blockObject, nodeObject, poolObject, registerOf } from '../../test/register/objects.ts';
import { Metrics } from '../base/metrics.ts';
import { PoolMetrics } from './pool-metrics.ts';

const nowMs = 1_700_000_000_000;

function scraped(joinedDaysAgo: readonly number[]) {
  const register = registerOf([
    poolObject('p', { cidrs: ['10.0.0.0/20'] }),
    ...joinedDaysAgo.flatMap((days, at) => [
      nodeObject(`n${at}`, { created: -days * 86_400 }),
      blockObject(`10.0.${at}.0/24`, `n${at}`, { pool: 'p' }),
    ]),
    blockObject('10.0.15.0/24', 'gone', { pool: 'p', phase: 'Cooling' }),
  ]);
  const metrics = new Metrics();
  const clock = { wallMs: () => nowMs, monotonicMs: () => 0 };
  const pools = new PoolMetrics({ metrics, register, clock });
  const lines = (name: string) =>
    metrics
      .text()
      .split('\n')
      .filter((line) => line.startsWith(name));
  return { pools, lines };
}

test('blocks are counted by phase, once the pool is reported and until it is forgotten', () => {
  const { pools, lines } = scraped([1, 2]);
  expect(lines('cadastre_blocks{')).toEqual([]);
  pools.report('p', { capacity: 16, assigned: 2, free: 13, cooling: 1, awaitingRelease: 0 });
  expect(lines('cadastre_blocks{')).toEqual([
    'cadastre_blocks{phase="Active",pool="p"} 2',
    'cadastre_blocks{phase="Draining",pool="p"} 0',
    'cadastre_blocks{phase="Cooling",pool="p"} 1',
    'cadastre_blocks{phase="Guard",pool="p"} 0',
  ]);
  expect(lines('cadastre_pool_blocks_free{')).toEqual(['cadastre_pool_blocks_free{pool="p"} 13']);
  pools.forgetAll();
  expect(lines('cadastre_blocks{')).toEqual([]);
  expect(lines('cadastre_pool_blocks_free{')).toEqual([]);
});

test('when a pool will be full follows from the nodes that joined lately', () => {
  // Of sixteen blocks five are taken: the other eleven last 11 * 20 / 2 days.
  const { pools, lines } = scraped([21, 21, 10, 5]);
  pools.report('p', {});
  expect(lines('cadastre_pool_full_in_seconds{')).toEqual([
    `cadastre_pool_full_in_seconds{pool="p"} ${110 * 86_400}`,
  ]);
});

test('of a young cluster nothing is foretold', () => {
  const { pools, lines } = scraped([2, 1]);
  pools.report('p', {});
  expect(lines('cadastre_pool_full_in_seconds{')).toEqual([]);
});
