import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ofCilium, type Pair } from '../../../test/doctor/pairs/pair.ts';
import { poolPairs } from '../../../test/doctor/pairs/pools.ts';
import { recordPairs } from '../../../test/doctor/pairs/records.ts';
import { reportPairs } from '../../../test/doctor/pairs/reports.ts';
import { routePairs } from '../../../test/doctor/pairs/routes.ts';
import { bothRoutes, cleanWorlds, route, router } from '../../../test/doctor/worlds.ts';
import { runs } from '../../../test/parts/random.ts';
import { reasons } from '../../model/reasons.ts';
import type { Evidence } from './evidence.ts';
import { type DoctorReason, doctorReasons } from './finding.ts';
import { judge } from './judge.ts';

const pairs: Record<DoctorReason, Pair> = {
  ...recordPairs,
  ...routePairs,
  ...reportPairs,
  ...poolPairs,
};

describe('each reason', () => {
  test('has a pair of worlds, and a sentence in the vocabulary', () => {
    expect(Object.keys(pairs).sort()).toEqual([...doctorReasons].sort());
    for (const reason of doctorReasons) expect(reasons[reason]).toMatch(/\.$/);
  });

  test.each(Object.entries(pairs))('%s is found', (reason, { triggers, finding }) => {
    const found = judge(triggers).filter((one) => one.reason === reason);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject(finding);
    expect(found[0]?.fix).not.toBe('');
  });

  test.each(Object.entries(pairs))('%s is not found just beside it', (reason, { beside }) => {
    expect(judge(beside).filter((one) => one.reason === reason)).toEqual([]);
  });
});

describe('a clean cluster', () => {
  test.each(Object.entries(cleanWorlds))('of mode %s gives no finding', (_, world) => {
    expect(judge(world())).toEqual([]);
  });
});

test('the order in which evidence came changes nothing', () => {
  const worlds = [...Object.values(pairs).map(({ triggers }) => triggers)];
  fc.assert(
    fc.property(
      fc.constantFrom(...worlds),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (world, chance) => {
        const shuffled = <T>(list: readonly T[]): T[] =>
          list
            .map((one) => ({ one, at: chance.next().value as number }))
            .sort((x, y) => x.at - y.at)
            .map(({ one }) => one);
        const mixed: Evidence = {
          ...world,
          nodes: shuffled(world.nodes),
          ciliumNodes: shuffled(world.ciliumNodes),
          pools: shuffled(world.pools),
          blocks: shuffled(world.blocks),
          reports: shuffled(world.reports),
          serviceNetworks: shuffled(world.serviceNetworks),
          routers: shuffled(world.routers).map((table) => ({
            ...table,
            routes: shuffled(table.routes),
          })),
        };
        expect(judge(mixed)).toEqual(judge(world));
      },
    ),
    { numRuns: runs(300) },
  );
});

test('a router with the whole Internet in its table is judged like any other', () => {
  const strays = Array.from({ length: 130_000 }, (_, at) =>
    route(`${11 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}.0/24`, '10.0.0.1'),
  );
  const world = ofCilium();
  const found = judge({ ...world, routers: [router('tor1', [...bothRoutes, ...strays])] });
  expect(found).toHaveLength(strays.length);
  expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['UnknownPrefix']));
});
