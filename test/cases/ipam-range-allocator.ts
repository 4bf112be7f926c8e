/** Kubernetes' range allocator: how it starts, and what it hands out. */
import { expect } from 'vitest';
import { blockObject, nodeObject, texts } from '../register/objects.ts';
import { clusterPool, findings, readFlags, refusals, Site } from './ipam-site.ts';

interface Case {
  readonly id: string;
  readonly clusterCIDRs: readonly string[];
  readonly masks: readonly number[];
  readonly serviceCIDR?: string;
  readonly occupied?: readonly string[];
  readonly nodes?: Readonly<Record<string, readonly string[]>>;
  readonly expect: unknown;
}

/** The peer drops host bits of a flag without a word; ours refuses them, so they are dropped here. */
const canonical = (cidr: string) => cidr.replace('ace:cab:deca::/8', 'a00::/8');

function site(one: Case): Site {
  const sizes = {
    ...(one.masks[0] === undefined ? {} : { ipv4: one.masks[0] }),
    ...(one.masks[1] === undefined ? {} : { ipv6: one.masks[1] }),
  };
  const reserved = one.serviceCIDR === undefined ? [] : [one.serviceCIDR];
  const pool = clusterPool(one.clusterCIDRs.map(canonical), sizes, reserved);
  const nodes = Object.entries(one.nodes ?? { node0: [] }).map(([name, held]) =>
    nodeObject(name, held.length > 0 ? { podCIDRs: [...held] } : {}),
  );
  const others = (one.occupied ?? []).flatMap((cidr, i) => [
    nodeObject(`other${i}`),
    blockObject(cidr, `other${i}`, { pool: pool.name }),
  ]);
  return new Site([pool], [...nodes, ...others]);
}

/** The peer starts, and the node is served or keeps what it has. */
const starts =
  (...blocks: string[]) =>
  (one: Case) => {
    expect(one.expect).toBe('START_OK');
    const cluster = site(one);
    const decision = cluster.serve('node0');
    expect(refusals(decision)).toEqual([]);
    expect(findings(decision)).toEqual([]);
    expect(cluster.held('node0')).toEqual(blocks);
  };

/** The peer does not start at all. Here the node is a finding, loses nothing, and others are served. */
const quarantines =
  (refused: string[], found: string[], others: string[], adopted: string[] = []) =>
  (one: Case) => {
    expect(one.expect).toBe('START_FAIL');
    const cluster = site(one);
    const decision = cluster.serve('node0');
    expect(refusals(decision)).toEqual(refused);
    expect(findings(decision)).toEqual(found);
    expect(texts(decision.assign)).toEqual([]);
    expect(cluster.held('node0')).toEqual(adopted);
    cluster.put(nodeObject('next'));
    expect(cluster.blocksAfter('next')).toEqual(others);
  };

const allocates = (one: Case) => {
  const name = Object.entries(one.nodes ?? {}).find(([, held]) => held.length === 0)![0];
  expect(texts(site(one).decide(name).assign)).toEqual(one.expect);
};

export const rangeAllocatorCases: Record<string, (one: Case) => void> = {
  'k8s-ra-startup-ok-nonalloc': starts('10.10.0.0/24'),
  'k8s-ra-startup-ok-dual': (one) => {
    const read = readFlags(one.clusterCIDRs, { ipv4: 24, ipv6: 24 });
    if (read.kind === 'pool') throw new Error('host bits passed');
    expect(read.problems).toEqual([
      expect.stringMatching(/^--cluster-pool-ipv6-cidr: .*ace:cab:deca::\/8/),
    ]);
    starts('10.10.0.0/24', 'a00::/24')(one);
  },
  'k8s-ra-startup-ok-existing-hostbits': starts('10.10.0.0/24'),
  'k8s-ra-startup-ok-dual-existing-othermask': (one) => {
    const [, odd] = site(one).decide('node0').adopt;
    expect(odd?.guards.map(String)).toEqual(['a00::/24']);
    starts('10.10.0.0/24', 'a00::/86')(one);
  },
  'k8s-ra-startup-fail-outside': quarantines(
    ['ipv4 OutsidePools'],
    ['OutsidePools node0 172.10.0.0/24'],
    ['10.10.0.0/24'],
  ),
  'k8s-ra-startup-fail-extra-family': quarantines(
    [],
    ['OutsidePools node0 a00::/86'],
    ['10.10.1.0/24'],
    ['10.10.0.0/24'],
  ),
  'k8s-ra-startup-fail-bad-v4': quarantines(
    ['ipv4 OutsidePools', 'ipv6 AdoptionIncomplete'],
    ['OutsidePools node0 172.10.0.0/24'],
    ['10.10.0.0/24', 'a00:100::/24'],
  ),
  'k8s-ra-startup-fail-bad-v6': quarantines(
    ['ipv6 OutsidePools', 'ipv4 AdoptionIncomplete'],
    ['OutsidePools node0 cdd::/86'],
    ['10.10.1.0/24', 'a00::/24'],
  ),
  'k8s-ra-first': allocates,
  'k8s-ra-skip-service-cidr': allocates,
  'k8s-ra-skip-service-and-occupied': allocates,
  'k8s-ra-no-double-counting': allocates,
  'k8s-ra-exhausted': (one) => {
    expect(one.expect).toBe('ERR_FULL');
    const decision = site(one).decide('node0');
    expect(refusals(decision)).toEqual(['ipv4 PoolExhausted']);
    expect(texts(decision.assign)).toEqual([]);
  },
  'k8s-ra-release-then-alloc': (one) => {
    const cluster = site(one);
    expect(refusals(cluster.serve('node0'))).toEqual(['ipv4 PoolExhausted']);
    const { nodeName } = cluster.block('10.123.234.4/30');
    cluster.register.removeNode(nodeName);
    cluster.cool('10.123.234.4/30');
    expect(refusals(cluster.serve('node0'))).toEqual(['ipv4 PoolExhausted']);
    cluster.free('10.123.234.4/30');
    expect(cluster.blocksAfter('node0')).toEqual(one.expect);
  },
  'k8s-ra-recycle': (one) => {
    const cluster = site(one);
    expect(cluster.blocksAfter('node0')).toEqual(one.expect);
    cluster.register.removeNode('node0');
    cluster.cool('10.123.234.0/30');
    // It comes back before the rest is over: no need to wait, it is its own block.
    cluster.put(nodeObject('node0', { uid: 'again' }));
    expect(texts(cluster.decide('node0').rebind)).toEqual(one.expect);
    expect(cluster.blocksAfter('node0')).toEqual(one.expect);
    // It does not: after the rest anybody has it.
    cluster.register.removeNode('node0');
    cluster.cool('10.123.234.0/30');
    cluster.free('10.123.234.0/30');
    cluster.put(nodeObject('another'));
    expect(cluster.blocksAfter('another')).toEqual(one.expect);
  },
};
