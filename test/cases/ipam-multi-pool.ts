/** Cilium's multi-pool operator: a life cycle, and what happens to pools in use. */
import { expect } from 'vitest';
import { ipPoolDefinition } from '../../src/model/ip-pool-schema.ts';
import type { Rules } from '../../src/plan/blocks/decide-node.ts';
import { poolUsage } from '../../src/plan/pools/pool-status.ts';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  type PoolSpec,
  poolObject,
  reportObject,
  second,
  texts,
} from '../register/objects.ts';
import { findings, refusals, Site } from './ipam-site.ts';

const byDemand: Rules = { families: 'auto', byDemand: true };
const both: Rules = { families: new Set(['ipv4', 'ipv6']), byDemand: true };

interface PeerPool {
  readonly name: string;
  readonly ipv4?: readonly string[];
  readonly v4Mask?: number;
  readonly ipv6?: readonly string[];
  readonly v6Mask?: number;
}

const poolOf = (pool: PeerPool, more: Partial<PoolSpec> = {}, created = 0) =>
  poolObject(
    pool.name,
    {
      cidrs: [...(pool.ipv4 ?? []), ...(pool.ipv6 ?? [])],
      ...(pool.v4Mask === undefined ? {} : { size: pool.v4Mask }),
      ...(pool.v6Mask === undefined ? {} : { size6: pool.v6Mask }),
      ...more,
    },
    { creationTimestamp: second(created) },
  );

const dual = { name: 'pool', ipv6: ['fd00:100::/80'], v6Mask: 96 };

/** A node of the peer names its pools; here a pool says by labels which nodes it serves. */
const servedBy = (name: string, pool: string, created = 0) =>
  nodeObject(name, { labels: { pool }, created });

/** The API server keeps the size; should it change all the same, nobody is cut in two. */
const keepsItsSize =
  (cidrs: string[], sizes: [number, number], held: string, next: string) => () => {
    expect(JSON.stringify(ipPoolDefinition)).toContain('blockSize is fixed');
    const sized = (size: number) => poolObject('mars', { cidrs, size, size6: size });
    const cluster = new Site([], [sized(sizes[0]), nodeObject('a')]);
    expect(cluster.blocksAfter('a')).toEqual([held]);
    cluster.put(sized(sizes[1]), nodeObject('b'));
    expect(cluster.blocksAfter('a')).toEqual([held]);
    expect(cluster.blocksAfter('b')).toEqual([next]);
  };

const firstAndLast = (one: {
  pool: string;
  maskSize: number;
  need: number;
  allowFirstIP: boolean;
  allowLastIP: boolean;
  expect: string[];
}) => {
  const cluster = new Site(
    [],
    [
      poolObject('p', { cidrs: [one.pool], size: one.maskSize }),
      nodeObject('n'),
      reportObject('n', { ipv4: one.need }),
    ],
    byDemand,
  );
  // A pod never gets the first, the second or the last address here, so both blocks are needed.
  expect(cluster.blocksAfter('n')).toEqual(['10.0.0.0/30', '10.0.0.4/30']);
  if (!one.allowFirstIP && !one.allowLastIP) expect(one.expect).toHaveLength(2);
};

// Each case has a shape of its own.
export const multiPoolCases: Record<string, (one: any) => void> = {
  'cil-mp-life-cycle': (one) => {
    const step = (number: number) => one.steps[number].expect;
    const cluster = new Site(
      [],
      [
        poolOf(one.pools[0]),
        nodeObject('node1', { created: 1 }),
        ciliumNodeObject('node1', one.steps[0].allocated),
        reportObject('node1', { ipv4: 10, ipv6: 10 }),
        nodeObject('node2', { created: 2 }),
        reportObject('node2', { ipv4: 10, ipv6: 10 }),
        nodeObject('node3', { created: 3 }),
        ciliumNodeObject('node3', one.steps[2].allocated),
      ],
      byDemand,
    );
    // Whoever comes first: what was read is claimed before anybody is asked.
    expect(cluster.blocksAfter('node2')).toEqual(step(5).cidrs);
    expect(cluster.blocksAfter('node1')).toEqual(step(4).cidrs);
    const thief = cluster.serve('node3');
    expect(findings(thief)).toEqual(['DuplicateBlock node1+node3 10.100.10.0/24']);
    expect(cluster.held('node3')).toEqual(step(6).cidrs);

    cluster.put(
      ciliumNodeObject('node1', one.steps[7].allocated),
      reportObject('node1', { ipv4: 10, ipv6: 10, releases: ['10.100.10.0/24'] }),
    );
    cluster.cool('10.100.10.0/24', 'Released');
    expect(cluster.blocksAfter('node3')).toEqual([]);
    cluster.free('10.100.10.0/24');
    const own = 'fd00:100::1:0:0/96';
    expect(cluster.blocksAfter('node3')).toEqual([...step(8).cidrs, own]);

    cluster.register.removeNode('node2');
    for (const cidr of step(5).cidrs) cluster.cool(cidr);
    for (const cidr of step(5).cidrs) cluster.free(cidr);
    cluster.put(ciliumNodeObject('node3', [...one.steps[10].allocated, own]));
    expect(cluster.blocksAfter('node3')).toEqual([...step(10).cidrs, own]);

    cluster.put(reportObject('node1', { ipv4: 300, ipv6: 10 }));
    expect(cluster.blocksAfter('node1')).toEqual(step(11).cidrs);
  },
  'cil-mp-missing-pool': (one) => {
    expect(one.steps[0].expect.err).toBe('NO_SUCH_POOL');
    const cluster = new Site(
      [],
      [
        poolObject('exists', { cidrs: ['10.0.0.0/16'], labels: { pool: 'exists' } }),
        servedBy('node1', one.steps[0].pool),
        reportObject('node1', { ipv4: 10 }),
      ],
      byDemand,
    );
    expect(refusals(cluster.serve('node1'))).toEqual(['ipv4 NoPoolSelectsNode']);
    expect(cluster.held('node1')).toEqual([]);
  },
  'cil-mp-partial-family': (one) => {
    const cluster = new Site(
      [],
      one.pools.flatMap((pool: PeerPool) => [
        poolOf(pool, { labels: { pool: pool.name } }),
        servedBy(`of-${pool.name}`, pool.name),
        reportObject(`of-${pool.name}`, { ipv4: 10, ipv6: 10 }),
      ]),
      both,
    );
    expect(refusals(cluster.serve('of-ipv4-only'))).toEqual(['ipv6 FamilyNotServed']);
    expect(refusals(cluster.serve('of-ipv6-only'))).toEqual(['ipv4 FamilyNotServed']);
    for (const [pool, cidrs] of Object.entries(one.expect.cidrs)) {
      expect(cluster.held(`of-${pool}`)).toEqual(cidrs);
    }
  },
  'cil-mp-overlapping-pools-PEER-DEFECT': (one) => {
    const [older, younger]: string[] = one.pools.map(({ name }: PeerPool) => name);
    const cluster = new Site(
      [],
      one.pools.flatMap((pool: PeerPool, created: number) => [
        poolOf(pool, { labels: { pool: pool.name } }, created),
        servedBy(`of-${pool.name}`, pool.name),
      ]),
    );
    expect(refusals(cluster.serve(`of-${younger}`))).toEqual(['ipv4 OverlappingPools']);
    expect(cluster.blocksAfter(`of-${older}`)).toEqual(one.peerResult[older!]);
    expect(cluster.blocksAfter(`of-${younger}`)).toEqual([]);
    expect(cluster.register.poolSet.problem(younger!)?.detail).toContain(older);
  },
  'cil-mp-mask-immutable-v4': keepsItsSize(
    ['10.10.0.0/16', '10.20.0.0/16'],
    [24, 25],
    '10.10.0.0/24',
    '10.10.1.0/25',
  ),
  'cil-mp-mask-immutable-v6': keepsItsSize(
    ['fe00:100::/80'],
    [96, 97],
    'fe00:100::/96',
    'fe00:100::1:0:0/97',
  ),
  'cil-mp-pool-replace-unused-cidr': () => {
    const cluster = new Site(
      [],
      [poolObject('mars', { cidrs: ['10.10.0.0/16', '10.20.0.0/16'] }), nodeObject('a')],
    );
    expect(cluster.blocksAfter('a')).toEqual(['10.10.0.0/24']);
    cluster.put(
      poolObject('mars', { cidrs: ['10.1.0.0/16', '10.3.0.0/16', '10.10.0.0/16'] }),
      nodeObject('b'),
    );
    expect(findings(cluster.serve('a'))).toEqual([]);
    expect(cluster.held('a')).toEqual(['10.10.0.0/24']);
    expect(cluster.blocksAfter('b')).toEqual(['10.1.0.0/24']);
    const mars = cluster.register.poolSet.get('mars')!;
    expect(mars.cidrs.map(String)).not.toContain('10.20.0.0/16');
    expect(poolUsage(cluster.register, mars).map(({ assigned }) => assigned)).toEqual([1, 0, 1]);
  },
  'cil-mp-delete-missing-pool': () => {
    const cluster = new Site(
      [],
      [poolObject('mars', { cidrs: ['10.10.0.0/16'] }), nodeObject('a')],
    );
    cluster.register.removePool('saturn');
    expect(cluster.register.poolSet.pools.map(({ name }) => name)).toEqual(['mars']);
    expect(cluster.blocksAfter('a')).toEqual(['10.10.0.0/24']);
  },
  'cil-mp-first-last-off': firstAndLast,
  'cil-mp-first-last-on': firstAndLast,
  'cil-mp-shrink-in-use': (one) => {
    expect(JSON.stringify(ipPoolDefinition)).toContain('may not be taken out of the pool');
    const cluster = new Site(
      [],
      [
        poolOf({ ...one.pool, name: 'pool' }),
        nodeObject('n'),
        ...one.allocatedBefore.map((cidr: string) => blockObject(cidr, 'n')),
      ],
    );
    expect(findings(cluster.serve('n'))).toEqual([]);
    // Past the API server, as a file or an old server would have it.
    cluster.put(poolOf({ ...one.pool, ...one.update, name: 'pool' }));
    expect(findings(cluster.serve('n'))).toEqual(
      one.expect.orphans.map((cidr: string) => `OutsidePools n ${cidr}`),
    );
    expect(cluster.held('n')).toEqual(one.expect.nodeStillHolds);
    for (const cidr of one.expect.orphans) expect(cluster.owners(cidr)).toEqual(['node/n']);
    const usage = poolUsage(cluster.register, cluster.register.poolSet.get('pool')!);
    expect(usage).toMatchObject([{ cidr: 'fd00:100::/80', assigned: 1 }]);
  },
  'cil-mp-delete-in-use-then-recreate': (one) => {
    const pool = poolOf({ ...dual, ipv4: ['10.100.0.0/16'], v4Mask: 24 });
    const nodes = Object.entries(one.allocated as Record<string, string[]>);
    const cluster = new Site(
      [],
      [
        pool,
        ...nodes.flatMap(([name, held]) => [
          nodeObject(name),
          ...held.map((cidr) => blockObject(cidr, name)),
        ]),
      ],
      auto,
    );
    cluster.register.removePool('pool');
    for (const [name, held] of nodes) {
      const decision = cluster.serve(name);
      expect(findings(decision)).toEqual(held.map((cidr) => `OutsidePools ${name} ${cidr}`));
      expect(texts(decision.keep)).toEqual(held);
    }
    cluster.put(pool, nodeObject('node3'));
    for (const [name, held] of nodes) {
      const decision = cluster.serve(name);
      expect(findings(decision)).toEqual([]);
      expect(texts(decision.keep)).toEqual(held);
    }
    expect(cluster.blocksAfter('node3')).toEqual(['10.100.2.0/24', 'fd00:100::2:0:0/96']);
  },
};
