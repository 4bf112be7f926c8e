import { describe, expect, test } from 'vitest';
import {
  advertisement,
  clusterConfig,
  forTor,
  nodeConfig,
  ofServices,
  peerConfig,
  peeringPolicy,
  podCidrs,
  tor,
  tor1,
  tor2,
} from '../../../test/doctor/cilium-bgp-objects.ts';
import {
  cilium,
  ciliumNode,
  cleanWorlds,
  node,
  podPool,
  route,
  router,
} from '../../../test/doctor/worlds.ts';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';
import { survey } from './survey.ts';
import { truthTable } from './truth-table.ts';

const toA = route('10.1.0.0/24', '10.0.0.1');
const toB = route('10.1.1.0/24', '10.0.0.2');
const service = route('192.0.2.7/32', '10.0.0.1');
const settings = (ipam = 'cluster-pool') =>
  cilium({ ipam, 'enable-bgp-control-plane': 'true' }, 17);

const withObjects = (objects: KubeObject[], more: Partial<Evidence> = {}): Evidence => ({
  ...cleanWorlds['cluster-pool of Cilium'](),
  cilium: settings(),
  ciliumBgp: stateOfObjects(objects).ciliumBgp,
  routers: [],
  ...more,
});
const servicesOnly = [
  clusterConfig('all', [tor1]),
  peerConfig('to-tor', forTor),
  advertisement('services', ofServices),
  nodeConfig('a', [tor1]),
  nodeConfig('b', [tor1]),
];
const pods = [...servicesOnly, advertisement('pods', podCidrs)];
const without = (objects: KubeObject[], kind: string, name: string) =>
  objects.filter((one) => one.kind !== kind || one.metadata?.name !== name);
const brief = (evidence: Evidence) =>
  judge(evidence).map(({ reason, severity, node: who }) => `${reason} ${severity} ${who}`);
const heard = (...routes: (typeof toA)[]) => [
  router('tor1', routes, { addresses: ['10.0.0.250'] }),
];

describe('clusters that do not announce blocks of pods', () => {
  const lb = { loadBalancerNetworks: [service.prefix] };

  test('Cilium that announces Services alone: routers without any block are right', () => {
    expect(judge(withObjects(servicesOnly, { ...lb, routers: heard(service) }))).toEqual([]);
    expect(judge(withObjects(servicesOnly))).toEqual([]);
  });

  test('BGP is on, and there is no BGP object at all', () => {
    expect(stateOfObjects([]).ciliumBgp).toBeUndefined();
    expect(judge(withObjects([], { routers: heard() }))).toEqual([]);
    // Routers that hold other blocks say that somebody announces them.
    expect(brief(withObjects([], { routers: heard(toA) }))).toEqual(['Blackhole critical b']);
  });

  test('kube-controller-manager beside MetalLB', () => {
    const plain = {
      ...cleanWorlds['kubernetes without Cilium'](),
      ...lb,
      routers: [router('tor1', [service])],
    };
    expect(brief(plain)).not.toEqual([]);
    expect(judge({ ...plain, hasMetallb: true })).toEqual([]);
    // Somebody announces blocks after all: then one that is missing is missed.
    const some = { ...plain, hasMetallb: true, routers: [router('tor1', [service, toA])] };
    expect(brief(some)).toEqual(['Blackhole critical b']);
  });

  test('BGP is off', () => {
    const off = { cilium: cilium({ ipam: 'cluster-pool' }, 17), routers: heard() };
    expect(judge(withObjects(pods, off))).toEqual([]);
  });
});

describe('BGP objects that could not be read', () => {
  const unread = ['CiliumBGPAdvertisement', 'CiliumBGPPeerConfig'];
  const world = (routers: Evidence['routers'], more: Partial<Evidence> = {}) =>
    withObjects(servicesOnly, { unreadCiliumBgp: unread, routers, ...more });

  test('no router has any block: said of each, as what it may be', () => {
    const found = judge(world(heard()));
    expect(brief(world(heard()))).toEqual(['Blackhole warning a', 'Blackhole warning b']);
    expect(found[0]?.hurts.now).toEqual([]);
    expect(found[0]?.says.Cilium).toBe(
      'Cilium 1.17 has its BGP control plane on, but what it announces is not known: CiliumBGPAdvertisement, CiliumBGPPeerConfig could not be read',
    );
    expect(found[0]?.fix).toContain("give the right to list Cilium's BGP objects");
  });

  test('the cure is to read them: what they say is judged then', () => {
    expect(judge({ ...world(heard()), unreadCiliumBgp: undefined })).toEqual([]);
    expect(brief({ ...world(heard()), ...withObjects(pods, { routers: heard() }) })).toEqual(
      expect.arrayContaining(['Blackhole critical a', 'Blackhole critical b']),
    );
  });

  test('a router that has other blocks is a witness: what is missing is cut off', () => {
    expect(brief(world(heard(toA)))).toEqual(['Blackhole critical b']);
    expect(brief(world(heard(toA, toB)))).toEqual([]);
  });

  test('without any router nothing is said to be announced, or not', () => {
    expect(judge(world([]))).toEqual([]);
    expect(survey(world([])).nodes.get('a')?.announces).toBeUndefined();
  });
});

describe('clusters that announce blocks', () => {
  test('in order', () => {
    expect(judge(withObjects(pods))).toEqual([]);
    expect(judge(withObjects(pods, { routers: heard(toA, toB) }))).toEqual([]);
    const looked = survey(withObjects(pods));
    const announced = truthTable(looked, []).rows.map(({ cells }) =>
      cells.find(({ column }) => column === 'announced'),
    );
    expect(announced).toMatchObject([{ cidrs: ['10.1.0.0/24'] }, { cidrs: ['10.1.1.0/24'] }]);
  });

  test('a node without CiliumBGPNodeConfig: it says who makes it, and one cures it', () => {
    const broken = without(pods, 'CiliumBGPNodeConfig', 'b');
    const found = judge(withObjects(broken, { routers: heard(toA) }));
    expect(found.map(({ reason, node: who }) => [reason, who])).toEqual([
      ['Blackhole', 'b'],
      ['NotAnnounced', 'b'],
    ]);
    expect(found[0]?.says.Cilium).toBe(
      'CiliumBGPClusterConfig all selects b, but there is no CiliumBGPNodeConfig b, which cilium-operator makes',
    );
    expect(found[0]?.fix).toContain('see that cilium-operator runs');
    expect(brief(withObjects(broken))).toEqual(['NotAnnounced critical b']);
    const cured = [...broken, nodeConfig('b', [tor1])];
    expect(judge(withObjects(cured, { routers: heard(toA, toB) }))).toEqual([]);
  });

  test('a session that is down: to one router of two a warning, to the only one critical', () => {
    const two = [
      clusterConfig('all', [tor1, tor2]),
      ...pods.slice(1, 3),
      advertisement('pods', podCidrs),
      nodeConfig('a', [tor1, tor2]),
    ];
    const half = [...two, nodeConfig('b', [tor1, tor2], { tor2: 'active' })];
    const [found, ...more] = judge(withObjects(half));
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      reason: 'NotAnnounced',
      severity: 'warning',
      hurts: { now: [], if: [{ event: 'lose-router tor1', nodes: ['b'] }] },
      says: { Cilium: 'the session of b with tor2 is active, by CiliumBGPNodeConfig b' },
    });
    const down = [...two, nodeConfig('b', [tor1, tor2], { tor1: 'idle', tor2: 'active' })];
    expect(brief(withObjects(down))).toEqual(['NotAnnounced critical b']);
  });

  test('nodes that no CiliumBGPClusterConfig selects: a warning, cured by the label', () => {
    const rack = clusterConfig('all', [tor1], { matchLabels: { rack: '1' } });
    const objects = [rack, ...without(pods.slice(1), 'CiliumBGPNodeConfig', 'b')];
    const labelled = (of: Record<string, string>) => ({
      nodes: [
        node('a', '10.0.0.1', { labels: { rack: '1' } }),
        node('b', '10.0.0.2', { labels: of }),
      ],
      routers: heard(toA),
    });
    const [found, ...more] = judge(withObjects(objects, labelled({})));
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      reason: 'NotAnnounced',
      severity: 'warning',
      hurts: { now: [] },
    });
    expect(found?.fix).toBe(
      'label b as spec.nodeSelector asks: kubectl get ciliumbgpclusterconfig all -o yaml',
    );
    const cured = withObjects([...objects, nodeConfig('b', [tor1])], {
      ...labelled({ rack: '1' }),
      routers: heard(toA, toB),
    });
    expect(judge(cured)).toEqual([]);
  });

  test('who is told to announce to which router is missed there and nowhere else', () => {
    const racks = (name: string, peer: typeof tor1) =>
      clusterConfig(name, [peer], { matchLabels: { rack: name } });
    const objects = [
      racks('one', tor1),
      racks('two', tor2),
      peerConfig('to-tor', forTor),
      advertisement('pods', podCidrs),
      nodeConfig('a', [tor1], {}, 'one'),
      nodeConfig('b', [tor2], {}, 'two'),
    ];
    const nodes = [
      node('a', '10.0.0.1', { labels: { rack: 'one' } }),
      node('b', '10.0.0.2', { labels: { rack: 'two' } }),
    ];
    const both = (first: (typeof toA)[], other: (typeof toA)[]) => ({
      nodes,
      routers: [...heard(...first), router('tor2', other, { addresses: ['10.0.0.251'] })],
    });
    expect(judge(withObjects(objects, both([toA], [toB])))).toEqual([]);
    expect(brief(withObjects(objects, both([toA], [])))).toEqual([
      'Blackhole critical b',
      'NotHeld critical b',
    ]);
  });

  test('a peer without a PeerConfig, or with one that does not exist, is announced nothing', () => {
    const named = (config: string) => {
      const peer = tor('tor1', '10.0.0.250', config);
      return withObjects([
        clusterConfig('all', [peer]),
        ...pods.slice(1, 3),
        advertisement('pods', podCidrs),
        nodeConfig('a', [tor1]),
        nodeConfig('b', [peer]),
      ]);
    };
    for (const [config, why] of [
      ['', 'names no CiliumBGPPeerConfig'],
      ['lost', 'names CiliumBGPPeerConfig lost, which does not exist'],
    ] as const) {
      const [found, ...more] = judge(named(config));
      expect(more).toEqual([]);
      expect(found).toMatchObject({ reason: 'NotAnnounced', severity: 'warning', node: 'b' });
      expect(found?.says.Cilium).toContain(why);
    }
    expect(judge(named('to-tor'))).toEqual([]);
  });

  test('a family whose advertisements have no selector announces nothing; an empty one everything', () => {
    const objects = (advertise?: object) => [
      ...without(pods, 'CiliumBGPPeerConfig', 'to-tor'),
      peerConfig('to-tor', advertise),
    ];
    expect(survey(withObjects(objects())).nodes.get('a')?.announces).toEqual([]);
    expect(survey(withObjects(objects({}))).nodes.get('a')?.announces).toHaveLength(1);
    expect(judge(withObjects(objects(), { routers: heard() }))).toEqual([]);
  });

  test('CiliumNode does not name what the register gives: Cilium cannot announce it', () => {
    const world = { ...cleanWorlds['ip-pool of Cadastre'](), cilium: settings('kubernetes') };
    const found = judge({
      ...world,
      ciliumBgp: stateOfObjects(pods).ciliumBgp,
      reports: [],
      ciliumNodes: [ciliumNode('a', '10.1.0.0/24'), ciliumNode('b', '10.1.7.0/24')],
      routers: heard(toA, route('10.1.7.0/24', '10.0.0.2')),
    });
    const hole = found.find(({ reason }) => reason === 'Blackhole');
    expect(hole).toMatchObject({ node: 'b', prefix: '10.1.1.0/24' });
    expect(hole?.fix).toContain('CiliumNode b');
    expect(JSON.stringify(found)).not.toContain('upgrade Cilium');
  });
});

describe('multi-pool', () => {
  const ofPools = (selector?: object) => ({
    advertisementType: 'CiliumPodIPPool',
    ...(selector === undefined ? {} : { selector }),
  });
  const world = (...parts: object[]) =>
    withObjects([...servicesOnly, advertisement('pods', ...parts)], {
      cilium: settings('multi-pool'),
      ciliumNodes: ['a', 'b'].map((name, at) => ({
        ...ciliumNode(name),
        pools: [{ pool: 'default', cidrs: [`10.1.${at}.0/24`] }],
        poolCidrs: [`10.1.${at}.0/24`],
      })),
    });
  const announced = (evidence: Evidence) =>
    survey(evidence)
      .nodes.get('a')
      ?.announces?.map(({ prefix }) => prefix.toString());

  test('PodCIDR announces nothing, CiliumPodIPPool the blocks of the pools it selects', () => {
    expect(announced(world(podCidrs))).toEqual([]);
    expect(announced(world(ofPools()))).toEqual([]);
    expect(announced(world(ofPools({})))).toEqual(['10.1.0.0/24']);
    const name = (pool: string) => ofPools({ matchLabels: { 'io.cilium.podippool.name': pool } });
    expect(announced(world(name('default')))).toEqual(['10.1.0.0/24']);
    expect(announced(world(name('other')))).toEqual([]);
  });

  test('pools are selected by the labels of their CiliumPodIPPools', () => {
    const ofRack = world(ofPools({ matchLabels: { rack: '1' } }));
    // Nobody saw the pools: what a selector asks for counts as met.
    expect(announced(ofRack)).toEqual(['10.1.0.0/24']);
    const seen = (...pools: Parameters<typeof podPool>[]): Evidence => ({
      ...ofRack,
      ciliumPodPools: pools.map((one) => podPool(...one)),
    });
    const range = ['10.1.0.0/16'];
    expect(announced(seen(['default', range, { rack: '1' }]))).toEqual(['10.1.0.0/24']);
    expect(announced(seen(['default', range, { rack: '2' }]))).toEqual([]);
    expect(announced(seen(['other', range, { rack: '1' }]))).toEqual([]);
  });

  test('without its CiliumPodIPPool, or with another mask size, a block does not go out', () => {
    const all = world(ofPools({}));
    const without = { ...all, ciliumPodPools: [podPool('other', ['10.9.0.0/16'])] };
    const [first] = judge(without);
    expect(brief(without)).toEqual(['NotAnnounced critical a', 'NotAnnounced critical b']);
    expect(first?.says.Cilium).toContain('there is no CiliumPodIPPool default');
    const shorter = { ...all, ciliumPodPools: [podPool('default', ['10.1.0.0/16'], {}, 26)] };
    expect(judge(shorter)[0]).toMatchObject({
      reason: 'NotAnnounced',
      fix: 'give CiliumPodIPPool default blocks of /24, as the node has',
    });
    expect(judge({ ...all, ciliumPodPools: [podPool('default', ['10.1.0.0/16'])] })).toEqual([]);
  });
});

describe('CiliumBGPPeeringPolicy', () => {
  const announced = (...objects: KubeObject[]) =>
    survey(withObjects(objects))
      .nodes.get('a')
      ?.announces?.map(({ prefix }) => prefix.toString());

  test('goes before the other objects, and announces blocks only if told to', () => {
    expect(announced(peeringPolicy('old', { exportPodCIDR: true }))).toEqual(['10.1.0.0/24']);
    expect(announced(peeringPolicy('old', {}), ...pods)).toEqual([]);
    expect(judge(withObjects([peeringPolicy('old', {})], { routers: heard() }))).toEqual([]);
  });

  test('two of them on one node: Cilium obeys none', () => {
    const two = ['x', 'y'].map((name) => peeringPolicy(name, { exportPodCIDR: true }));
    const found = judge(withObjects(two));
    expect(found.map(({ reason, node: who }) => [reason, who])).toEqual([
      ['NotAnnounced', 'a'],
      ['NotAnnounced', 'b'],
    ]);
    expect(found[0]?.fix).toBe('change nodeSelector so that one CiliumBGPPeeringPolicy selects a');
    expect(judge(withObjects(two.slice(1)))).toEqual([]);
  });
});

test('a Cilium that announces Node.spec is cured by the version that the finding names', () => {
  const clean = cleanWorlds['cluster-pool of Cilium']();
  const data = { ipam: 'cluster-pool', 'bgp-announce-pod-cidr': 'true' };
  const world = (minor: number): Evidence => ({
    ...clean,
    nodes: [
      node('a', '10.0.0.1', { podCidrs: ['10.1.1.0/24'] }),
      node('b', '10.0.0.2', { podCidrs: ['10.1.0.0/24'] }),
    ],
    cilium: cilium(data, minor),
    routers: [],
  });
  const old = judge(world(11)).filter(({ reason }) => reason === 'Detour');
  expect(old).toHaveLength(2);
  expect(old[0]?.fix).toContain('upgrade Cilium to 1.12 or newer (not tried by us)');
  const upgraded = judge(world(12));
  expect(upgraded.filter(({ reason }) => reason === 'Detour')).toEqual([]);
  for (const minor of [12, 13, 20]) {
    expect(JSON.stringify(judge(world(minor)))).not.toContain('upgrade Cilium');
  }
});
