import { expect, test } from 'vitest';
import {
  advertisement,
  clusterConfig,
  forTor,
  nodeConfig,
  peerConfig,
  podCidrs,
  tor,
} from '../../../test/doctor/cilium-bgp-objects.ts';
import {
  block,
  bothRoutes,
  cilium,
  ciliumNode,
  cleanWorlds,
  node,
  nowMs,
  podPool,
  pool,
  prefix,
  report,
  reported,
  route,
  router,
  session,
} from '../../../test/doctor/worlds.ts';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { Evidence } from './evidence.ts';
import type { DoctorReason } from './finding.ts';
import { judge } from './judge.ts';

/**
 * What a finding tells people to do, done to the records, routes and reports that it is
 * about: then nothing is found any more. Cures that need a program to answer are executed
 * beside that program (docs/cures.md).
 */
interface Case {
  sick: Evidence;
  reason: DoctorReason;
  /** What the cure says of the change that is made. */
  says: string;
  cured: Evidence;
}

const ofCilium = cleanWorlds['cluster-pool of Cilium'];
const ofNodes = cleanWorlds['kubernetes of Cilium'];
const ofCadastre = cleanWorlds['ip-pool of Cadastre'];
const [toA, toB] = bothRoutes as [(typeof bothRoutes)[0], (typeof bothRoutes)[0]];

const atTor1 = (
  evidence: Evidence,
  ...routes: Evidence['routers'][number]['routes'][number][]
) => ({
  ...evidence,
  routers: [router('tor1', routes)],
});
const pools = (...all: Evidence['pools'][number][]): Evidence => ({ ...ofCadastre(), pools: all });
const joined = (evidence: Evidence, ...more: Evidence['nodes'][number][]): Evidence => ({
  ...evidence,
  nodes: [...evidence.nodes, ...more],
});
const podAt = (name: string, at: string, address: string) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'default',
  node: at,
  addresses: [address],
});
const spokenTwice = (...objects: object[]): Evidence => ({
  ...ofCadastre(),
  cilium: cilium({ ipam: 'cluster-pool', 'enable-bgp-control-plane': 'true' }, 17),
  ciliumBgp: stateOfObjects([
    clusterConfig('all', [tor('tor1', '10.0.0.250')], { matchLabels: { name: 'a' } }),
    peerConfig('to-tor', forTor),
    nodeConfig('a', [tor('tor1', '10.0.0.250')], { tor1: 'active' }),
    ...objects,
  ] as never).ciliumBgp,
});
const hijacked = (hijacks: object[]): Evidence => ({
  ...ofCadastre(),
  reports: ofCadastre().reports.map((one) =>
    one.name === 'a' ? { ...one, status: { ...one.status, hijacks: hijacks as never } } : one,
  ),
});
const found = (evidence: Evidence, reason: DoctorReason) =>
  judge(evidence).filter((one) => one.reason === reason);

const cases: Record<string, Case> = {
  'a node that leaves the block it shares ends the clash': {
    sick: {
      ...ofNodes(),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.0.0/24'] }),
      ],
    },
    reason: 'DuplicateBlock',
    says: 'move all but one of a, b to another block',
    cured: ofNodes(),
  },
  'a CIDR around a block makes it one of the pool': {
    sick: pools(pool('all', ['10.1.0.0/24'], { ipv4: 24 })),
    reason: 'OutsidePools',
    says: 'add a CIDR around 10.1.1.0/24 to a pool',
    cured: pools(pool('all', ['10.1.0.0/24', '10.1.1.0/24'], { ipv4: 24 })),
  },
  'a Service network that is reserved, and left by its node, is in nobody’s block': {
    sick: {
      ...ofCadastre(),
      serviceNetworks: [{ name: 'Services', prefix: prefix('10.1.1.0/24') }],
    },
    reason: 'OverlapsNetwork',
    says: 'reserve 10.1.1.0/24 in the pool, and move b to another block',
    cured: {
      ...pools(pool('all', ['10.1.0.0/16'], { ipv4: 24 }, { reserved: ['10.1.1.0/24'] })),
      serviceNetworks: [{ name: 'Services', prefix: prefix('10.1.1.0/24') }],
      blocks: [block('10.1.0.0/24', 'a'), block('10.1.2.0/24', 'b')],
      nodes: ofCadastre().nodes.map((one) => ({ ...one, annotations: {}, podCidrs: [] })),
      reports: [],
      routers: [],
      pods: undefined,
    },
  },
  'a pool whose reserved names the Service network serves': {
    sick: {
      ...pools(...ofCadastre().pools, pool('more', ['10.2.0.0/16'], { ipv4: 24 })),
      serviceNetworks: [{ name: 'Services', prefix: prefix('10.2.0.0/24') }],
    },
    reason: 'OverlapsNetwork',
    says: 'name the part in its reserved',
    cured: {
      ...pools(
        ...ofCadastre().pools,
        pool('more', ['10.2.0.0/16'], { ipv4: 24 }, { reserved: ['10.2.0.0/24'] }),
      ),
      serviceNetworks: [{ name: 'Services', prefix: prefix('10.2.0.0/24') }],
    },
  },
  'the block around an address of a node, reserved, is no trouble': {
    sick: joined(pools(pool('all', ['10.1.0.0/16'], { ipv4: 24 })), node('c', '10.1.9.5')),
    reason: 'OverlapsNetwork',
    says: 'reserve 10.1.9.0/24 in pool all',
    cured: joined(
      pools(pool('all', ['10.1.0.0/16'], { ipv4: 24 }, { reserved: ['10.1.9.0/24'] })),
      node('c', '10.1.9.5'),
    ),
  },
  'a claim of more than a block, removed, is refused no more': {
    sick: joined(
      pools(pool('all', ['10.1.0.0/16'], { ipv4: 24 })),
      node('c', '10.0.0.3', { podCidrs: ['10.0.0.0/8'] }),
    ),
    reason: 'ClaimRefused',
    says: 'correct or remove that record',
    cured: joined(pools(pool('all', ['10.1.0.0/16'], { ipv4: 24 })), node('c', '10.0.0.3')),
  },
  'a pool that selects the group serves it': {
    sick: joined(ofCadastre(), node('c', '10.0.0.3', { labels: { rack: '2' } })),
    reason: 'NoPoolForGroup',
    says: 'make a pool whose nodeSelector matches rack=2',
    cured: joined(
      pools(
        ...ofCadastre().pools,
        pool(
          'two',
          ['10.3.0.0/16'],
          { ipv4: 24 },
          { nodeSelector: { matchLabels: { rack: '2' } } },
        ),
      ),
      node('c', '10.0.0.3', { labels: { rack: '2' } }),
    ),
  },
  'a CiliumPodIPPool with the addresses of the IPPool is the same pool': {
    sick: {
      ...ofCadastre(),
      mode: 'multi-pool',
      ciliumPodPools: [podPool('all', ['10.1.0.0/17'])],
    },
    reason: 'PoolsDiffer',
    says: 'add 10.1.0.0/16 to CiliumPodIPPool all',
    cured: {
      ...ofCadastre(),
      mode: 'multi-pool',
      ciliumPodPools: [podPool('all', ['10.1.0.0/17', '10.1.0.0/16'])],
    },
  },
  'a CiliumNode that outlived its Node, deleted, keeps no block': {
    sick: {
      ...ofCilium(),
      ciliumNodes: [...ofCilium().ciliumNodes, ciliumNode('gone', '10.1.9.0/24')],
    },
    reason: 'StrandedBlock',
    says: 'kubectl delete ciliumnode gone',
    cured: ofCilium(),
  },
  'a block that cools under an operator is not stranded': {
    sick: { ...ofCadastre(), blocks: [...ofCadastre().blocks, block('10.1.9.0/24', 'gone')] },
    reason: 'StrandedBlock',
    says: 'the operator frees it after a cool-down: see that one runs',
    cured: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', { phase: 'Cooling', coolingSinceMs: nowMs - 1000 }),
      ],
    },
  },
  'addresses whose owners are gone, released, are not leaked': {
    sick: { ...ofCadastre(), reports: [report('a', { blocks: [reported('10.1.0.0/24', 3)] })] },
    reason: 'LeakedAddress',
    says: 'release those that are gone',
    cured: { ...ofCadastre(), reports: [report('a', { blocks: [reported('10.1.0.0/24', 1)] })] },
  },
  'an annotation that says what the register says agrees': {
    sick: {
      ...ofCadastre(),
      nodes: ofCadastre().nodes.map((one) =>
        one.name === 'a'
          ? { ...one, annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.1.7.0/24' } }
          : one,
      ),
    },
    reason: 'SourcesDisagree',
    says: 'correct the annotation of a: it must say what NodeBlock says',
    cured: {
      ...ofCadastre(),
      nodes: ofCadastre().nodes.map((one) =>
        one.name === 'a'
          ? { ...one, annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.1.0.0/24' } }
          : one,
      ),
    },
  },
  'a pod with the address of another, deleted, comes back with one of its node': {
    sick: { ...ofCilium(), pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.0.5')] },
    reason: 'DuplicateAddress',
    says: 'delete default/two, so that it gets another address',
    cured: { ...ofCilium(), pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.1.5')] },
  },
  'who stops announcing a block that is another’s ends the detour': {
    sick: atTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.1')),
    reason: 'Detour',
    says: 'see why a announces 10.1.1.0/24',
    cured: atTor1(ofCilium(), toA, toB),
  },
  'a block that its node announces and routers accept is reached': {
    sick: atTor1(ofCilium(), toA),
    reason: 'Blackhole',
    says: 'make b announce 10.1.1.0/24',
    cured: atTor1(ofCilium(), toA, toB),
  },
  'a route to no node, cleared on the router, is not stale': {
    sick: atTor1(ofCilium(), toA, toB, route('10.1.5.0/24', '10.0.0.99')),
    reason: 'Stale',
    says: 'clear the route on the router',
    cured: atTor1(ofCilium(), toA, toB),
  },
  'the next hop that the cure names is right': {
    sick: atTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.99')),
    reason: 'WrongNextHop',
    says: 'it must be 10.0.0.2',
    cured: atTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.2')),
  },
  'a router that filters nothing holds what the others hold': {
    sick: { ...ofCilium(), routers: [router('tor1', bothRoutes), router('tor2', [toA])] },
    reason: 'NotHeld',
    says: 'on the router, look for a filter',
    cured: { ...ofCilium(), routers: [router('tor1', bothRoutes), router('tor2', bothRoutes)] },
  },
  'a session that announces the block, as the NodeReport shows, is what was missing': {
    sick: {
      ...ofCadastre(),
      reports: [ofCadastre().reports[0]!, report('b', { sessions: [session('tor1', '10.0.0.2')] })],
    },
    reason: 'NotAnnounced',
    says: 'kubectl get nodereport b -o yaml',
    cured: ofCadastre(),
  },
  'a kernel route that is replaced as the cure says leads to the owner': {
    sick: {
      ...ofCilium(),
      nodes: [...ofCilium().nodes, node('c', '10.0.0.3')],
      kernel: {
        node: 'c',
        routes: [{ prefix: prefix('10.1.1.0/24'), via: '10.0.0.1', isLocal: false }],
      } as never,
    },
    reason: 'Detour',
    says: 'on c: ip route replace 10.1.1.0/24 via 10.0.0.2',
    cured: {
      ...ofCilium(),
      nodes: [...ofCilium().nodes, node('c', '10.0.0.3')],
      kernel: {
        node: 'c',
        routes: [{ prefix: prefix('10.1.1.0/24'), via: '10.0.0.2', isLocal: false }],
      } as never,
    },
  },
  'of two speakers one is left, when the advertisement that the cure names is taken out': {
    sick: spokenTwice(advertisement('all', podCidrs)),
    reason: 'SecondSpeaker',
    says: 'take advertisementType PodCIDR out of CiliumBGPAdvertisement all',
    cured: spokenTwice(),
  },
  'a router that nobody tells another way leads to the node': {
    sick: hijacked([
      { cidr: '10.1.0.0/24', prefix: '10.1.0.0/25', peer: 'tor1', nextHop: '10.0.0.2' },
    ]),
    reason: 'Hijacked',
    says: 'on router tor1: find who advertises 10.1.0.0/25 with next hop 10.0.0.2 (b)',
    cured: hijacked([]),
  },
  'of two allocators one is left, when the operator and its blocks are gone': {
    sick: {
      ...ofNodes(),
      mode: 'kubernetes',
      blocks: [block('10.1.8.0/24', 'a'), block('10.1.9.0/24', 'b')],
    },
    reason: 'SecondAllocator',
    says: 'run one of them: stop the operator, or change --ipam',
    cured: { ...ofNodes(), mode: 'kubernetes' },
  },
  'a static route to the owner, at once, ends the blackhole of an old Cilium': {
    sick: {
      ...atTor1(
        {
          ...ofCilium(),
          cilium: { ...ofCilium().cilium!, version: { major: 1, minor: 11, from: 'a test' } },
          nodes: [
            node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
            node('b', '10.0.0.2', { podCidrs: ['10.1.7.0/24'] }),
          ],
        },
        toA,
      ),
    },
    reason: 'Blackhole',
    says: 'a static route on the routers for 10.1.1.0/24 to 10.0.0.2',
    cured: {
      ...atTor1(
        {
          ...ofCilium(),
          cilium: { ...ofCilium().cilium!, version: { major: 1, minor: 11, from: 'a test' } },
          nodes: [
            node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
            node('b', '10.0.0.2', { podCidrs: ['10.1.7.0/24'] }),
          ],
        },
        toA,
        route('10.1.1.0/24', '10.0.0.2'),
      ),
    },
  },
};

test.each(Object.entries(cases))('%s', (_, { sick, reason, says, cured }) => {
  const before = found(sick, reason);
  expect(before.map(({ fix }) => fix).join('\n')).toContain(says);
  expect(found(cured, reason)).toEqual([]);
  // Nobody is hurt by the cure who was not before.
  const hurtBefore = new Set(judge(sick).flatMap(({ hurts }) => hurts.now));
  expect(
    judge(cured)
      .flatMap(({ hurts }) => hurts.now)
      .filter((one) => !hurtBefore.has(one)),
  ).toEqual([]);
});
