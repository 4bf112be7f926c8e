/** What went wrong for others, and must not here. */
import { expect } from 'vitest';
import type { LabelRequirement } from '../../src/base/label-requirement.ts';
import { decideBlock } from '../../src/plan/blocks/block-life.ts';
import { desiredAnnouncements } from '../../src/plan/node/desired-announcements.ts';
import { ownedBlocksByNode } from '../../src/plan/node/node-truth.ts';
import {
  at,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  second,
  texts,
} from '../register/objects.ts';
import { clusterPool, findings, refusals, Site } from './ipam-site.ts';

/** What each node tells its routers. */
function announced({ register }: Site): Record<string, string[]> {
  const blocks = ownedBlocksByNode('register', register.nodes.values(), register.blocks.values());
  const routed = [...register.nodes.values()].map((node) => ({
    ...node,
    blocks: blocks.get(node.name) ?? [],
  }));
  return Object.fromEntries(
    routed.map((self) => {
      const input = { self, others: routed, advertisements: [], isLeaving: false };
      return [self.name, desiredAnnouncements(input).announcements.map(({ prefix }) => prefix)];
    }),
  );
}

// Each case has a shape of its own.
export const incidentCases: Record<string, (one: any) => void> = {
  'inc-seed-mismatch': (one) => {
    const names = Object.keys(one.k8sNode);
    const cluster = new Site(
      [],
      [
        poolObject('p', { cidrs: [one.pool] }),
        ...names.flatMap((name) => [
          nodeObject(name, { podCIDRs: [one.k8sNode[name]] }),
          ciliumNodeObject(name, [one.podsUse[name]]),
        ]),
      ],
    );
    for (const name of names) {
      expect(findings(cluster.serve(name))).toEqual([
        `SourcesDisagree ${name} ${one.podsUse[name]}`,
      ]);
    }
    const before = announced(cluster);
    expect(before).toEqual(Object.fromEntries(names.map((name) => [name, [one.podsUse[name]]])));
    // The incident: node01 goes, and master2 must not lose its pods.
    cluster.register.removeNode('node01');
    const { node01, ...others } = before;
    expect(node01).toEqual(['10.5.112.0/24']);
    expect(announced(cluster)).toEqual(others);
  },
  'inc-mask-change-27-to-24': (one) => {
    const old = Object.entries(one.held as Record<string, string>);
    const cluster = new Site(
      [clusterPool([one.clusterCIDR], { ipv4: one.newMask })],
      old.flatMap(([name, cidr]) => [nodeObject(name), blockObject(cidr, name)]),
    );
    expect(cluster.decide('n2').unguarded).toMatchObject([
      { prefix: at('10.0.0.32/27'), guards: [at('10.0.0.0/24')] },
    ]);
    cluster.register.removeNode(one.deleted);
    cluster.cool(one.held[one.deleted]);
    cluster.free(one.held[one.deleted]);
    cluster.put(nodeObject('n3'));
    expect(cluster.blocksAfter('n3')).toEqual(['10.0.1.0/24']);
    expect(cluster.held('n2')).toEqual(['10.0.0.32/27']);
  },
  'inc-calico-29-blocks-overlap': (one) => {
    const old = ['172.27.90.8/29', '172.27.90.48/29', '172.27.90.240/29'];
    const cluster = new Site(
      [],
      [
        poolObject('p', { cidrs: [one.pool], size: one.newBlock }),
        ...old.flatMap((cidr, i) => [nodeObject(`old${i}`), blockObject(cidr, `old${i}`)]),
      ],
    );
    expect(old.every((cidr) => at(cidr).length === one.oldBlock)).toBe(true);
    const cut: string[] = [];
    for (let i = 0; i < 16; i++) {
      cluster.put(nodeObject(`new${i}`));
      cut.push(...cluster.blocksAfter(`new${i}`));
    }
    // Of 16 cells three have a /29 in them.
    expect(cut).toHaveLength(13);
    for (const cidr of cut) expect(old.some((other) => at(other).overlaps(at(cidr)))).toBe(false);
  },
  'inc-finalizer-release': () => {
    const cluster = new Site([], [poolObject('p', { cidrs: ['10.0.0.0/23'] }), nodeObject('a')]);
    expect(cluster.blocksAfter('a')).toEqual(['10.0.0.0/24']);
    const leaving = nodeObject('a');
    const held = { deletionTimestamp: second(9), finalizers: ['example.com/hold'] };
    cluster.put({ ...leaving, metadata: { ...leaving.metadata, ...held } }, nodeObject('b'));
    const step = decideBlock(cluster.register, cluster.block('10.0.0.0/24'), 0, false);
    expect(step).toEqual({ kind: 'stay' });
    expect(cluster.blocksAfter('b')).toEqual(['10.0.1.0/24']);
    cluster.put(nodeObject('c'));
    expect(refusals(cluster.serve('c'))).toEqual(['ipv4 PoolExhausted']);
    cluster.register.removeNode('a');
    cluster.cool('10.0.0.0/24');
    cluster.free('10.0.0.0/24');
    expect(cluster.blocksAfter('c')).toEqual(['10.0.0.0/24']);
  },
  'inc-adopt-partial-overlap': (one) => {
    const cluster = new Site(
      [clusterPool([one.pool], { ipv4: one.maskSize })],
      [
        nodeObject('a', { podCIDRs: [one.held.a] }),
        nodeObject('b', { podCIDRs: [one.adopt.b], created: 1 }),
      ],
    );
    expect(cluster.blocksAfter('a')).toEqual([one.held.a]);
    const decision = cluster.serve('b');
    expect(findings(decision)).toEqual([`ClaimRefused b ${one.adopt.b}`]);
    expect(refusals(decision)).toEqual(['ipv4 ClaimRefused']);
    expect(cluster.held('b')).toEqual([]);
  },
  'inc-dup-then-one-deleted': (one) => {
    const cluster = new Site(
      [clusterPool([one.pool], { ipv4: one.maskSize })],
      [
        nodeObject('a', { podCIDRs: [one.held.a] }),
        nodeObject('b', { podCIDRs: [one.held.b], created: 1 }),
      ],
    );
    expect(cluster.blocksAfter('a')).toEqual([one.held.a]);
    expect(findings(cluster.serve('b'))).toEqual([`DuplicateBlock a+b ${one.held.b}`]);
    cluster.register.removeNode(one.delete);
    cluster.cool(one.held.a);
    cluster.free(one.held.a);
    expect(cluster.owners(one.held.b)).toEqual(['node/b']);
    cluster.put(nodeObject('c', { created: 2 }));
    expect(cluster.blocksAfter('c')).toEqual(['10.10.1.0/24']);
    expect(cluster.blocksAfter('b')).toEqual([one.held.b]);
  },
  'inc-dualstack-v6-full-leaks-v4': (one) => {
    const pool = clusterPool([one.v4, one.v6], { ipv4: one.v4Mask, ipv6: one.v6Mask });
    const cluster = new Site(
      [pool],
      [nodeObject('holder'), blockObject(one.v6, 'holder'), nodeObject('n')],
    );
    const free = (cidr: string, size: number) => cluster.register.claims.countFree(at(cidr), size);
    expect(free(one.v6, one.v6Mask)).toBe(one.v6Free);
    for (let retry = 0; retry < one.retries; retry++) {
      expect(refusals(cluster.serve('n'))).toEqual(['ipv4 PoolExhausted', 'ipv6 PoolExhausted']);
      expect(free(one.v4, one.v4Mask)).toBe(4);
    }
  },
  'inc-label-change-then-delete': () => {
    const zone = (name: string, cidr: string) =>
      poolObject(name, { cidrs: [cidr], labels: { zone: name } });
    const cluster = new Site(
      [],
      [
        zone('a', '10.0.0.0/22'),
        zone('b', '10.1.0.0/22'),
        nodeObject('n', { labels: { zone: 'a' } }),
      ],
    );
    expect(cluster.blocksAfter('n')).toEqual(['10.0.0.0/24']);
    cluster.put(nodeObject('n', { labels: { zone: 'b' } }));
    expect(findings(cluster.serve('n'))).toEqual(['PoolNoLongerSelects n 10.0.0.0/24']);
    expect(cluster.held('n')).toEqual(['10.0.0.0/24']);
    cluster.register.removeNode('n');
    cluster.cool('10.0.0.0/24');
    expect(cluster.freeBlocks('a')).toBe(3);
    cluster.free('10.0.0.0/24');
    expect([cluster.freeBlocks('a'), cluster.freeBlocks('b')]).toEqual([4, 4]);
  },
  'inc-ipv6-56-to-72': (one) => {
    const pool = clusterPool([one.clusterCIDR], { ipv6: one.maskSize });
    const cluster = new Site([pool], [nodeObject('n')]);
    expect(cluster.blocksAfter('n')).toEqual(['fd00::/80']);
    expect(cluster.freeBlocks(pool.name)).toBe(2 ** 24 - 1);
  },
  'inc-patch-fail-reuse': () => {
    const cluster = new Site(
      [],
      [poolObject('p', { cidrs: ['10.0.0.0/22'] }), nodeObject('a'), nodeObject('b')],
    );
    const [x] = cluster.decide('a').assign;
    cluster.register.reserve('a', x!.prefix);
    // While the write is under way nobody else is offered it.
    expect(texts(cluster.decide('b').assign)).toEqual(['10.0.1.0/24']);
    cluster.register.unreserve('a', x!.prefix);
    expect(cluster.blocksAfter('b')).toEqual([x!.prefix.toString()]);
    // The retry asks again instead of writing what it had in mind.
    expect(cluster.blocksAfter('a')).toEqual(['10.0.1.0/24']);
  },
  'inc-selector-terms-or': (one) => {
    const pools = (one.nodeSelectorTerms as LabelRequirement[][]).map((matchExpressions, i) =>
      poolObject(`term${i}`, { cidrs: [`10.${i}.0.0/16`], selector: { matchExpressions } }),
    );
    const nodes = Object.entries(one.nodes as Record<string, Record<string, string>>);
    const cluster = new Site(
      [],
      [...pools, ...nodes.map(([name, labels]) => nodeObject(name, { labels }))],
    );
    const served = nodes.filter(([name]) => cluster.blocksAfter(name).length > 0);
    expect(served.map(([name]) => name)).toEqual(one.expect);
    expect(refusals(cluster.serve('n3'))).toEqual(['ipv4 NoPoolSelectsNode']);
  },
};
