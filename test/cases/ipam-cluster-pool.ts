/** Cilium's cluster-pool: its restart, its half-done adoptions, its CIDRs and its rule of demand. */
import { expect } from 'vitest';
import { neededAddresses } from '../../src/plan/blocks/demand.ts';
import { at, blockObject, ciliumNodeObject, nodeObject, texts } from '../register/objects.ts';
import { clusterPool, findings, readFlags, refusals, Site } from './ipam-site.ts';

export const demandCase = (one: { inUse: number; preAlloc: number; expect: number }) =>
  expect(neededAddresses(one.inUse, one.preAlloc)).toBe(one.expect);

export function overlapCase(one: { cidrs: string[]; maskSize: number; expect: string }): void {
  const read = readFlags(one.cidrs, { ipv4: one.maskSize, ipv6: one.maskSize });
  const culprit = /^ERR_OVERLAP (\S+)$/.exec(one.expect)?.[1];
  if (culprit === undefined) expect(read.kind).toBe(one.expect === 'OK' ? 'pool' : 'refused');
  else {
    const family = culprit.includes(':') ? 'ipv6' : 'ipv4';
    const sentence = `--cluster-pool-${family}-cidr: ${culprit} overlaps ${one.cidrs[0]}`;
    expect(read).toEqual({ kind: 'refused', problems: [sentence] });
  }
}

const dual = () => clusterPool(['10.10.0.0/22', 'fd00::/64'], { ipv4: 24, ipv6: 80 });

interface HalfKept {
  readonly adopt: Readonly<Record<string, string[]>>;
  readonly alreadyAllocated: readonly string[];
  readonly expect: { readonly kept: readonly string[]; readonly err: boolean };
}

/** The peer keeps the unique half. Ours adopts nothing, and gives that half to nobody else either. */
function halfKept(one: HalfKept): void {
  const held = one.adopt['node-1']!;
  const holder = one.alreadyAllocated.map((cidr) => blockObject(cidr, 'holder'));
  const cluster = new Site(
    [dual()],
    [nodeObject('holder'), ...holder, nodeObject('node-1'), ciliumNodeObject('node-1', held)],
  );
  const decision = cluster.serve('node-1');
  expect(one.expect.err).toBe(true);
  expect(findings(decision)).toEqual(
    one.alreadyAllocated.map((cidr) => `DuplicateBlock holder+node-1 ${cidr}`),
  );
  expect(refusals(decision).sort()).toEqual(
    held
      .map((cidr) => {
        const family = cidr.includes(':') ? 'ipv6' : 'ipv4';
        return `${family} ${one.expect.kept.includes(cidr) ? 'AdoptionIncomplete' : 'DuplicateBlock'}`;
      })
      .sort(),
  );
  expect(cluster.held('node-1')).toEqual([]);
  for (const cidr of one.expect.kept) expect(cluster.owners(cidr)).toEqual(['node/node-1']);
  cluster.put(nodeObject('next', { created: 1 }));
  expect(cluster.blocksAfter('next')).toEqual(['10.10.1.0/24', 'fd00::1:0:0:0/80']);
}

// Each case has a shape of its own.
export const clusterPoolCases: Record<string, (one: any) => void> = {
  'cil-cp-restart-order': (one) => {
    for (let run = 0; run < one.runs; run++) {
      const cluster = new Site(
        [clusterPool([one.pool], { ipv4: one.maskSize })],
        Object.entries(one.nodes as Record<string, string[]>).flatMap(([name, held]) => [
          nodeObject(name),
          ciliumNodeObject(name, held),
        ]),
      );
      expect(cluster.blocksAfter('node-a')).toEqual(['10.129.1.0/24']);
      expect(cluster.blocksAfter('node-b')).toEqual(one.expect['node-b']);
    }
  },
  'cil-cp-dup-v6-keeps-v4': (one) => {
    const pool = clusterPool([...one.v4Pool, ...one.v6Pool], { ipv4: 24, ipv6: 80 });
    const nodes = (one.adopt as Record<string, string[]>[]).flatMap((entry, created) =>
      Object.entries(entry).flatMap(([name, held]) => [
        nodeObject(name, { created }),
        ciliumNodeObject(name, held),
      ]),
    );
    const cluster = new Site([pool], [...nodes, nodeObject('node-c', { created: 2 })]);
    expect(cluster.blocksAfter('node-a')).toEqual(['10.10.0.0/24', 'fd00::/80']);
    const b = cluster.serve('node-b');
    expect(findings(b)).toEqual(['DuplicateBlock node-a+node-b fd00::/80']);
    expect(refusals(b)).toEqual(['ipv6 DuplicateBlock', 'ipv4 AdoptionIncomplete']);
    expect(cluster.held('node-b')).toEqual([]);
    expect(cluster.owners('10.10.1.0/24')).toEqual(['node/node-b']);
    expect(cluster.blocksAfter('node-c')).toEqual([one.expect['node-c.v4'], 'fd01::/80']);
  },
  'cil-cp-v6-dup': halfKept,
  'cil-cp-v4-dup': halfKept,
  'cil-cp-both-dup': halfKept,
  'cil-cp-v6-full-reverts-v4': (one) => {
    const pool = clusterPool(['10.10.0.0/22', 'fd00::/80'], { ipv4: 24, ipv6: 80 });
    const holder = ['10.10.0.0/24', 'fd00::/80'].map((cidr) => blockObject(cidr, 'holder'));
    const cluster = new Site([pool], [nodeObject('holder'), ...holder, nodeObject('node-1')]);
    const free = () => cluster.register.claims.countFree(at('10.10.0.0/22'), 24);
    const before = free();
    const decision = cluster.serve('node-1');
    expect(texts(decision.assign)).toEqual(one.expect.allocated);
    expect(refusals(decision)).toEqual(['ipv4 PoolExhausted', 'ipv6 PoolExhausted']);
    expect(free()).toBe(before);
  },
  'cil-cp-change-refused': (one) => {
    expect(one.expect.err).toBe('CONFLICT');
    const cluster = new Site(
      [dual()],
      [
        nodeObject('node-1'),
        ...['10.10.0.0/24', 'fd00::/80'].map((cidr) => blockObject(cidr, 'node-1')),
        ciliumNodeObject('node-1', ['10.10.3.0/24', 'fd00::/80']),
      ],
    );
    const decision = cluster.serve('node-1');
    expect(findings(decision)).toEqual(['SourcesDisagree node-1 10.10.0.0/24']);
    expect(cluster.held('node-1')).toEqual(['10.10.0.0/24', 'fd00::/80']);
    // Pods may live there, whoever wrote it: nobody else is given it.
    expect(cluster.owners('10.10.3.0/24')).toEqual(['shadow/node-1']);
  },
  'cil-cp-add-v6-later': (one) => {
    const first = new Site([clusterPool(['10.10.0.0/22'], { ipv4: 24 })], [nodeObject('node-1')]);
    expect(first.blocksAfter('node-1')).toEqual([one.expect.v4]);
    first.register.putPool(dual());
    expect(first.blocksAfter('node-1')).toEqual([one.expect.v4, 'fd00::/80']);
  },
};
