import fc from 'fast-check';
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
} from '../../../test/doctor/cilium-bgp-objects.ts';
import {
  block,
  bothRoutes,
  cilium,
  ciliumNode,
  cleanWorlds,
  dayMs,
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
import { runs } from '../../../test/parts/random.ts';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { ReportedUnannounced } from '../../model/node-report-status.ts';
import type { Reason } from '../../model/reasons.ts';
import { reasons } from '../../model/reasons.ts';
import type { Evidence, RouterRoute, RouterTable } from './evidence.ts';
import { type DoctorFinding, type DoctorReason, doctorReasons } from './finding.ts';
import { judge } from './judge.ts';

const ofCilium = cleanWorlds['cluster-pool of Cilium'];
const ofNodes = cleanWorlds['kubernetes of Cilium'];
const ofCadastre = cleanWorlds['ip-pool of Cadastre'];

/** The world with another one of its parts. */
const withTor1 = (
  evidence: Evidence,
  ...routes: Evidence['routers'][number]['routes'][number][]
) => ({
  ...evidence,
  routers: [router('tor1', routes)],
});

const podAt = (name: string, at: string, address: string) => ({
  name,
  uid: name,
  resourceVersion: '',
  namespace: 'default',
  node: at,
  addresses: [address],
});
const livesAt = (name: string, cidr: string, internal: string) => ({
  ...ciliumNode(name, cidr),
  internalIps: [internal],
});

interface Pair {
  /** A world in which it is found, */
  triggers: Evidence;
  /** and one just beside it, in which it is not. */
  beside: Evidence;
  finding: Partial<DoctorFinding>;
}

/** Node a reports that tor1 reaches half of a block at b. */
const hijackOf = (cidr: string): Evidence => {
  const [first, ...rest] = ofCadastre().reports;
  const piece = { cidr, prefix: cidr.replace('/24', '/25'), peer: 'tor1', nextHop: '10.0.0.2' };
  const hijacks = [{ ...piece, ownNextHop: '10.0.0.1' }];
  return {
    ...ofCadastre(),
    reports: [{ ...first!, status: { ...first!.status, hijacks } }, ...rest],
  };
};

const [toA, toB] = bothRoutes as [(typeof bothRoutes)[0], (typeof bothRoutes)[0]];
const nearlyFull = (taken: number) => ({
  ...ofCadastre(),
  pools: [pool('all', ['10.1.0.0/20'], { ipv4: 24 })],
  blocks: [
    ...ofCadastre().blocks,
    ...Array.from({ length: taken - 2 }, (_, at) => block(`10.1.${at + 2}.0/24`, `n${at}`)),
  ],
  nodes: [
    ...ofCadastre().nodes,
    ...Array.from({ length: taken - 2 }, (_, at) => node(`n${at}`, `10.0.1.${at + 1}`)),
  ],
  routers: [],
});

/** What an agent reports is found; what another agent of the cluster says about no fault is not. */
const agentFound = (
  reason: DoctorReason,
  { severity = 'warning', now = [] as string[], cidr = '' } = {},
): Pair => {
  const [first, ...rest] = ofCadastre().reports;
  const withFinding = (word: string) => ({
    ...ofCadastre(),
    reports: [
      {
        ...first!,
        status: { ...first!.status, findings: [{ reason: word, cidr, detail: 'it said so' }] },
      },
      ...rest,
    ],
  });
  return {
    triggers: withFinding(reason),
    beside: withFinding('NotOnLink'),
    finding: {
      node: 'a',
      owner: 'a',
      prefix: cidr === '' ? null : cidr,
      severity: severity as DoctorFinding['severity'],
      says: { agent: 'it said so' },
      hurts: { now, if: [] },
    },
  };
};

const doubted = (reason: Reason) => ({
  ...block('10.1.9.0/24', 'gone', { phase: 'Cooling', restedSeconds: 300 }),
  releasable: {
    type: 'Releasable',
    status: 'False',
    reason,
    message: 'the report of gone says that it does not use the block, but …',
  } as const,
});

/** Mode multi-pool of Cadastre, with the CiliumPodIPPool of the same name as the IPPool. */
const inPools = (...cidrs: string[]): Evidence => ({
  ...ofCadastre(),
  mode: 'multi-pool',
  ciliumPodPools: [podPool('all', cidrs), podPool('other', ['10.3.0.0/16'])],
});

/** Our agents speak, and Cilium's BGP objects are about a. */
const spokenTwice = (part: object, address = '10.0.0.250'): Evidence => ({
  ...ofCadastre(),
  cilium: cilium({ ipam: 'cluster-pool', 'enable-bgp-control-plane': 'true' }, 17),
  ciliumBgp: stateOfObjects([
    clusterConfig('all', [tor('tor1', address)], { matchLabels: { name: 'a' } }),
    peerConfig('to-tor', forTor),
    advertisement('all', part),
    nodeConfig('a', [tor('tor1', address)], { tor1: 'active' }),
  ]).ciliumBgp,
});

const pairs: Record<DoctorReason, Pair> = {
  ClaimRefused: {
    triggers: {
      ...ofCadastre(),
      pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
      nodes: [...ofCadastre().nodes, node('c', '10.0.0.3', { podCidrs: ['10.0.0.0/8'] })],
    },
    // Of a block's size: the operator adopts it.
    beside: {
      ...ofCadastre(),
      pools: [pool('all', ['10.1.0.0/16'], { ipv4: 24 })],
      nodes: [...ofCadastre().nodes, node('c', '10.0.0.3', { podCidrs: ['10.1.9.0/24'] })],
    },
    finding: {
      node: 'c',
      prefix: '10.0.0.0/8',
      severity: 'critical',
      says: {
        'Node.spec.podCIDRs': 'c',
        pool: 'all',
        refused: 'it is larger than a /24 block of pool all; it is kept from nobody else',
      },
      hurts: { now: ['c'], if: [] },
    },
  },
  SourcesDisagree: {
    triggers: {
      ...ofCilium(),
      nodes: [node('a', '10.0.0.1', { podCidrs: ['10.1.7.0/24'] }), node('b', '10.0.0.2')],
    },
    // Host bits are read over: the same block, written otherwise.
    beside: {
      ...ofCilium(),
      nodes: [node('a', '10.0.0.1', { podCidrs: ['10.1.0.3/24'] }), node('b', '10.0.0.2')],
    },
    finding: {
      node: 'a',
      prefix: '10.1.0.0/24',
      says: { CiliumNode: '10.1.0.0/24', 'Node.spec': '10.1.7.0/24' },
      severity: 'info',
    },
  },
  SecondAllocator: {
    triggers: {
      ...ofCilium(),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.1.0/24'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.0.0/24'] }),
      ],
    },
    // Left over on an old node: nobody fills it in any more.
    beside: {
      ...ofCilium(),
      nodes: [node('a', '10.0.0.1', { podCidrs: ['10.1.1.0/24'] }), node('b', '10.0.0.2')],
    },
    finding: { node: null, prefix: null, severity: 'warning' },
  },
  SecondSpeaker: {
    triggers: spokenTwice(podCidrs),
    beside: spokenTwice(ofServices),
    finding: {
      node: 'a',
      owner: 'a',
      prefix: '10.1.0.0/24',
      severity: 'warning',
      says: {
        agent: 'announces to tor1 (10.0.0.250, Established)',
        Cilium: 'is to announce to tor1 (10.0.0.250)',
      },
      fix: 'let one of the two announce: take advertisementType PodCIDR out of CiliumBGPAdvertisement all, or change nodeSelector of our BGPPeers so that none selects a',
    },
  },
  PoolsDiffer: {
    triggers: inPools('10.1.0.0/17', 'fd00::/96'),
    // Ours is a part of it, be it in two halves; and a pool of another name is another one.
    beside: inPools('10.1.0.0/17', '10.1.128.0/17', '10.2.0.0/16'),
    finding: {
      node: null,
      prefix: '10.1.0.0/16',
      severity: 'warning',
      says: {
        IPPool: 'all has 10.1.0.0/16',
        CiliumPodIPPool: 'all has 10.1.0.0/17, fd00::/96',
      },
      fix: 'add 10.1.0.0/16 to CiliumPodIPPool all, or take it out of IPPool all',
    },
  },
  Detour: {
    triggers: withTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.1')),
    // A path that the router knows but does not take.
    beside: withTor1(ofCilium(), toA, toB, route('10.1.1.0/24', '10.0.0.1', { isUsed: false })),
    finding: {
      node: 'a',
      owner: 'b',
      prefix: '10.1.1.0/24',
      hurts: { now: [], if: [{ event: 'drain a', nodes: ['b'], prefixes: ['10.1.1.0/24'] }] },
    },
  },
  Blackhole: {
    triggers: withTor1(ofCilium(), toA),
    // The next larger route leads to the owner.
    beside: withTor1(ofCilium(), toA, route('10.1.0.0/23', '10.0.0.2')),
    finding: {
      node: 'b',
      prefix: '10.1.1.0/24',
      severity: 'critical',
      hurts: { now: ['b'], if: [] },
    },
  },
  Orphan: {
    triggers: withTor1(ofCilium(), toA, toB, route('10.1.5.0/24', '10.0.0.1')),
    // Learnt from another router: whoever announces it is not among these.
    beside: {
      ...ofCilium(),
      routers: [
        router('tor1', [toA, toB, route('10.1.5.0/24', '10.0.0.251')]),
        router('tor2', [toA, toB], { addresses: ['10.0.0.251'] }),
      ],
    },
    finding: { node: 'a', prefix: '10.1.5.0/24', owner: null },
  },
  Stale: {
    triggers: withTor1(ofCilium(), toA, toB, route('10.1.5.0/24', '10.0.0.99')),
    // Not the cluster's land: somebody else's route.
    beside: withTor1(ofCilium(), toA, toB, route('10.77.5.0/24', '10.0.0.99')),
    finding: { node: null, prefix: '10.1.5.0/24', owner: null },
  },
  WrongNextHop: {
    triggers: withTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.99')),
    beside: {
      ...ofCilium(),
      routers: [
        router('tor1', [toA, route('10.1.1.0/24', '10.0.0.99')]),
        router('tor2', [toA, toB], { addresses: ['10.0.0.99'] }),
      ],
    },
    finding: {
      node: 'b',
      prefix: '10.1.1.0/24',
      severity: 'critical',
      hurts: { now: ['b'], if: [] },
    },
  },
  NotHeld: {
    triggers: { ...ofCilium(), routers: [router('tor1', bothRoutes), router('tor2', [toA])] },
    // Another rack's router: it shares no node with the first.
    beside: { ...ofCilium(), routers: [router('tor1', [toA]), router('tor2', [toB])] },
    finding: {
      node: 'b',
      prefix: '10.1.1.0/24',
      says: { CiliumNode: 'b', announced: 'b', tor1: 'via 10.0.0.2 (b)', tor2: 'no route' },
      hurts: {
        now: [],
        if: [{ event: 'lose-router tor1', nodes: ['b'], prefixes: ['10.1.1.0/24'] }],
      },
    },
  },
  NotAnnounced: {
    triggers: {
      ...ofCadastre(),
      reports: [ofCadastre().reports[0]!, report('b', { sessions: [session('tor1', '10.0.0.2')] })],
    },
    // It is being emptied: it takes its routes back on purpose.
    beside: {
      ...ofCadastre(),
      nodes: ofCadastre().nodes.map((one) =>
        one.name === 'b' ? { ...one, isLeaving: true as const } : one,
      ),
      reports: [ofCadastre().reports[0]!, report('b', { sessions: [session('tor1', '10.0.0.2')] })],
      routers: [router('tor1', [toA])],
    },
    finding: { node: 'b', prefix: '10.1.1.0/24', severity: 'critical' },
  },
  UnknownPrefix: {
    triggers: withTor1(ofCilium(), toA, toB, route('192.0.2.7/32', '10.0.0.1')),
    beside: {
      ...withTor1(ofCilium(), toA, toB, route('192.0.2.7/32', '10.0.0.1')),
      loadBalancerNetworks: [prefix('192.0.2.0/28')],
    },
    finding: { node: 'a', prefix: '192.0.2.7/32', severity: 'info' },
  },
  RestoredFromBackup: {
    triggers: {
      ...ofCadastre(),
      reports: ofCadastre().reports.map((one) =>
        one.name === 'a' ? { ...one, uses: [{ cidr: '10.1.1.0/24', uid: 'of a lost one' }] } : one,
      ),
    },
    beside: {
      ...ofCadastre(),
      reports: ofCadastre().reports.map((one) =>
        one.name === 'a' ? { ...one, uses: [{ cidr: '10.1.0.0/24', uid: 'of a lost one' }] } : one,
      ),
    },
    finding: {
      node: 'a',
      owner: 'b',
      prefix: '10.1.1.0/24',
      severity: 'critical',
      hurts: { now: ['a', 'b'], if: [] },
    },
  },
  Hijacked: {
    triggers: hijackOf('10.1.0.0/24'),
    // By the register it is b's: then the routers are right.
    beside: hijackOf('10.1.1.0/24'),
    finding: {
      node: 'a',
      owner: 'a',
      prefix: '10.1.0.0/25',
      severity: 'critical',
      says: {
        agent: 'announces 10.1.0.0/24 with next hop 10.0.0.1',
        'router tor1': 'reaches 10.1.0.0/25, a piece of 10.1.0.0/24, by next hop 10.0.0.2 (b)',
      },
      hurts: { now: ['a'], if: [] },
    },
  },
  PodsOutsideBlocks: agentFound('PodsOutsideBlocks', { severity: 'critical', now: ['a'] }),
  NotThisMachine: agentFound('NotThisMachine', { severity: 'critical', now: ['a'] }),
  DuplicateAgent: agentFound('DuplicateAgent'),
  BlockMissing: agentFound('BlockMissing', { cidr: '10.1.1.0/24' }),
  AddressOwnersUnknown: agentFound('AddressOwnersUnknown'),
  PeerRefused: agentFound('PeerRefused'),
  RouteRefused: agentFound('RouteRefused', { cidr: '10.1.1.0/24' }),
  NoAddressOfFamily: agentFound('NoAddressOfFamily'),
  MasqueradeRefused: agentFound('MasqueradeRefused'),
  MalformedConfig: agentFound('MalformedConfig'),
  DuplicateAddress: {
    triggers: {
      ...ofCilium(),
      pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.0.5')],
    },
    beside: { ...ofCilium(), pods: [podAt('one', 'a', '10.1.0.5'), podAt('two', 'b', '10.1.1.5')] },
    finding: {
      prefix: '10.1.0.5/32',
      owner: 'a',
      node: 'b',
      severity: 'critical',
      says: { Pods: 'default/one on a, default/two on b' },
      hurts: { now: ['a', 'b'], if: [] },
    },
  },
  AgentOnOldBlock: {
    triggers: {
      ...ofCilium(),
      ciliumNodes: [livesAt('a', '10.1.0.0/24', '10.1.1.7'), ciliumNode('b', '10.1.1.0/24')],
    },
    beside: {
      ...ofCilium(),
      ciliumNodes: [livesAt('a', '10.1.0.0/24', '10.1.0.7'), ciliumNode('b', '10.1.1.0/24')],
    },
    finding: { prefix: '10.1.1.0/24', owner: 'b', node: 'a', severity: 'critical' },
  },
  DuplicateBlock: {
    triggers: {
      ...ofNodes(),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.0.0/24'] }),
      ],
    },
    beside: ofNodes(),
    finding: { prefix: '10.1.0.0/24', owner: 'a', node: 'b', severity: 'critical' },
  },
  OverlappingBlocks: {
    triggers: {
      ...ofNodes(),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/23'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.1.0/24'] }),
      ],
    },
    beside: {
      ...ofNodes(),
      nodes: [
        node('a', '10.0.0.1', { podCidrs: ['10.1.2.0/23'] }),
        node('b', '10.0.0.2', { podCidrs: ['10.1.1.0/24'] }),
      ],
    },
    finding: { prefix: '10.1.1.0/24', node: 'b', hurts: { now: ['a', 'b'], if: [] } },
  },
  OutsidePools: {
    triggers: {
      ...ofCilium(),
      cilium: cilium(
        { ipam: 'cluster-pool', 'cluster-pool-ipv4-cidr': '10.1.0.0/24 10.2.0.0/16' },
        14,
      ),
    },
    // Two CIDRs of the pool cover the block together.
    beside: {
      ...ofCilium(),
      cilium: cilium(
        { ipam: 'cluster-pool', 'cluster-pool-ipv4-cidr': '10.1.0.0/24,10.1.1.0/24,10.2.0.0/16' },
        14,
      ),
    },
    finding: { node: 'b', prefix: '10.1.1.0/24' },
  },
  OverlapsNetwork: {
    triggers: {
      ...ofCilium(),
      serviceNetworks: [{ name: 'Services', prefix: prefix('10.1.1.128/25') }],
    },
    // In the pool's land, but in nobody's block.
    beside: {
      ...ofCilium(),
      nodes: [node('a', '10.0.0.1'), node('b', '10.0.0.2'), node('c', '10.2.1.5')],
      ciliumNodes: [...ofCilium().ciliumNodes, ciliumNode('c', '10.1.2.0/24')],
      routers: [],
    },
    finding: { node: 'b', prefix: '10.1.1.0/24', severity: 'critical' },
  },
  PoolNearlyFull: {
    triggers: nearlyFull(15),
    beside: nearlyFull(13),
    finding: { says: expect.objectContaining({ pool: 'all', free: '1 of 16 ipv4 blocks of /24' }) },
  },
  NoPoolForGroup: {
    triggers: {
      ...ofCadastre(),
      nodes: [
        ...ofCadastre().nodes,
        node('c', '10.0.0.3', { labels: { rack: '2' } }),
        node('d', '10.0.0.4', { labels: { rack: '2' } }),
      ],
    },
    beside: {
      ...ofCadastre(),
      nodes: [...ofCadastre().nodes, node('c', '10.0.0.3', { labels: { rack: '2' } })],
      pools: [...ofCadastre().pools, pool('rest', ['10.3.0.0/16'], { ipv4: 24 })],
    },
    finding: {
      node: 'c',
      hurts: { now: ['c', 'd'], if: [] },
      says: { labels: 'rack=2', nodes: 'c, d', pools: 'all' },
    },
  },
  LeakedAddress: {
    triggers: { ...ofCadastre(), reports: [report('a', { blocks: [reported('10.1.0.0/24', 3)] })] },
    beside: ofCadastre(),
    finding: { node: 'a', prefix: '10.1.0.0/24', says: { agent: '3 addresses', Pods: '1' } },
  },
  ReportNotAttributed: {
    triggers: {
      ...ofCadastre(),
      blocks: [...ofCadastre().blocks, doubted('ReportNotAttributed')],
    },
    // The report says nothing for a release: whoever may have written it.
    beside: { ...ofCadastre(), blocks: [...ofCadastre().blocks, doubted('AwaitingWitness')] },
    finding: {
      node: 'gone',
      prefix: '10.1.9.0/24',
      says: { missing: 'the report of gone says that it does not use the block, but …' },
      fix: 'kubectl apply -f deploy/agent.yaml, so that each agent is bound to its own node; or, if the machine of gone is off: cadastre blocks release 10.1.9.0/24 --machine-is-off "why"',
    },
  },
  AwaitingWitness: {
    triggers: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', { phase: 'Cooling', restedSeconds: 300 }),
      ],
    },
    // Somebody said so: the operator is about to free it.
    beside: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', {
          phase: 'Cooling',
          restedSeconds: 300,
          released: { by: 'Fenced' },
        }),
      ],
    },
    finding: {
      node: 'gone',
      prefix: '10.1.9.0/24',
      fix: 'if the machine of gone is off: cadastre blocks release 10.1.9.0/24 --machine-is-off "why"',
    },
  },
  ReleasedByTime: {
    triggers: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', { phase: 'Cooling', released: { by: 'Time' } }),
      ],
    },
    beside: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', { phase: 'Cooling', released: { by: 'Routers' } }),
      ],
    },
    finding: { node: 'gone', prefix: '10.1.9.0/24', severity: 'warning' },
  },
  StrandedBlock: {
    triggers: { ...ofCadastre(), blocks: [...ofCadastre().blocks, block('10.1.9.0/24', 'gone')] },
    // It cools, as it should.
    beside: {
      ...ofCadastre(),
      blocks: [
        ...ofCadastre().blocks,
        block('10.1.9.0/24', 'gone', { phase: 'Cooling', coolingSinceMs: nowMs - 1000 }),
      ],
    },
    finding: { node: 'gone', prefix: '10.1.9.0/24', owner: null },
  },
};

describe('each reason', () => {
  test('has a pair of worlds here, and a sentence in the vocabulary', () => {
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

describe('cilium-operator in mode multi-pool beside Cadastre', () => {
  const beside = (more: Partial<Evidence>): string[] =>
    judge({
      ...ofCadastre(),
      cilium: cilium({ ipam: 'kubernetes' }, 17),
      ciliumOperator: { runs: true, ipam: 'multi-pool' },
      ...more,
    })
      .filter(({ reason }) => reason === 'SecondAllocator')
      .map(({ severity, says }) => `${severity}: ${says['cilium-operator']}`);
  const far = podPool('far', ['10.9.0.0/16']);

  test('is a second allocator where its pools have addresses of ours', () => {
    const near = podPool('near', ['10.1.128.0/17']);
    expect(beside({ ciliumPodPools: [far, near] })).toEqual([
      'critical: runs with ipam multi-pool and gives out blocks out of 10.9.0.0/16, 10.1.128.0/17',
    ]);
    expect(beside({ ciliumPodPools: [far] })).toEqual([]);
    // In our own mode multi-pool both write the same lists.
    expect(beside({ ciliumPodPools: [far], mode: 'multi-pool' })).toHaveLength(1);
  });

  test('its pools were not to be seen: they may be ours', () => {
    expect(beside({})).toEqual(['critical: runs with ipam multi-pool and gives out blocks']);
  });
});

describe('two speakers on one node', () => {
  const spoken = (evidence: Evidence) =>
    judge(evidence).filter(({ reason }) => reason === 'SecondSpeaker');

  test('with other routers they are not in the way of each other', () => {
    expect(spoken(spokenTwice(podCidrs))).toHaveLength(1);
    expect(spoken(spokenTwice(podCidrs, '10.0.0.251'))).toEqual([]);
  });

  test('a CiliumBGPPeeringPolicy is one too, and the cure names it', () => {
    const { ciliumBgp } = stateOfObjects([peeringPolicy('old', { exportPodCIDR: true })]);
    const found = spoken({ ...spokenTwice(podCidrs), ciliumBgp });
    expect(found.map(({ node: who }) => who)).toEqual(['a', 'b']);
    expect(found[0]?.fix).toContain('set exportPodCIDR: false in CiliumBGPPeeringPolicy old, or');
    const cured = stateOfObjects([peeringPolicy('old', { exportPodCIDR: false })]);
    expect(spoken({ ...spokenTwice(podCidrs), ciliumBgp: cured.ciliumBgp })).toEqual([]);
  });

  test('a session of ours that is down counts: the other one may be why', () => {
    const world = spokenTwice(podCidrs);
    const [first, ...rest] = world.reports;
    const down = { ...session('tor1', '10.0.0.1'), state: 'Active' };
    const reports = [{ ...first!, status: { ...first!.status, sessions: [down] } }, ...rest];
    expect(spoken({ ...world, reports })[0]?.says.agent).toBe(
      'announces to tor1 (10.0.0.250, Active)',
    );
  });
});

describe('a clean cluster', () => {
  test.each(Object.entries(cleanWorlds))('of mode %s gives no finding', (_, world) => {
    expect(judge(world())).toEqual([]);
  });
});

describe('a node that leaves', () => {
  const silent = (signs: object, says: object = {}): Evidence => ({
    ...ofCadastre(),
    nodes: ofCadastre().nodes.map((one) => (one.name === 'b' ? { ...one, ...signs } : one)),
    reports: [
      ofCadastre().reports[0]!,
      report('b', { sessions: [session('tor1', '10.0.0.2')], ...says }),
    ],
    routers: [router('tor1', [toA])],
  });
  const detail = 'b is being drained; its routes are withdrawn: the node is cordoned';
  const stated = { unannounced: [{ cidr: '10.1.1.0/24', reason: 'NodeDraining', detail }] };

  test.each<[string, Evidence, boolean]>([
    ['shuts down', silent({ isShuttingDown: true }), true],
    ['is out of service', silent({ isOutOfService: true }), true],
    ['is cordoned, and says why', silent({ isCordoned: true }, stated), true],
    ['is cordoned, and says nothing', silent({ isCordoned: true }), false],
  ])('one that %s withdraws its block on purpose: %#', (_, evidence, isMeant) => {
    expect(judge(evidence).filter(({ node }) => node === 'b').length === 0).toBe(isMeant);
  });
});

describe('what routers hold', () => {
  test('an empty table means that every pod is cut off; a table of the other family means nothing', () => {
    const none = { ...ofCilium(), routers: [router('tor1', [])] };
    expect(judge(none).map(({ reason, node: who }) => [reason, who])).toEqual([
      ['Blackhole', 'a'],
      ['Blackhole', 'b'],
    ]);
    const other = router('tor1', [], { families: new Set(['ipv6']) });
    expect(judge({ ...ofCilium(), routers: [other] })).toEqual([]);
  });

  test('equal paths to the owner and to another node are a detour that draining does not hurt', () => {
    const [found, ...more] = judge(
      withTor1(ofCilium(), toA, toB, route('10.1.1.0/24', '10.0.0.1')),
    );
    expect(more).toEqual([]);
    expect(found).toMatchObject({ reason: 'Detour', node: 'a', hurts: { now: [], if: [] } });
    expect(found?.says.tor1).toBe('via 10.0.0.1 (a) and 10.0.0.2 (b)');
  });

  test('a more specific route to another node takes a part of the block away', () => {
    const found = judge(withTor1(ofCilium(), toA, toB, route('10.1.1.128/25', '10.0.0.1')));
    expect(found.map(({ reason, prefix: at, owner }) => [reason, at, owner])).toEqual([
      ['Detour', '10.1.1.128/25', 'b'],
    ]);
  });

  test('a host route of the owner itself, a default route and other people are nobody to us', () => {
    const quiet = withTor1(
      ofCilium(),
      toA,
      toB,
      route('10.1.1.9/32', '10.0.0.2'),
      route('0.0.0.0/0', '10.0.0.254'),
      route('172.16.0.0/12', ''),
      route('10.0.0.2/32', '10.0.0.2'),
    );
    expect(judge(quiet)).toEqual([]);
  });

  test('a route that the router holds and cannot use is no way to the pods', () => {
    const found = judge(
      withTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.2', { isUsed: false })),
    );
    expect(found.map(({ reason }) => reason)).toEqual(['Blackhole']);
    expect(found[0]?.says.tor1).toBe('in the table, not used: via 10.0.0.2 (b)');
  });

  test('a link-local next hop is matched by who told it', () => {
    const told = route('10.1.1.0/24', 'fe80::1', { from: '10.0.0.2' });
    expect(judge(withTor1(ofCilium(), toA, told))).toEqual([]);
  });

  test('a node by its IPv6 address, however it is written', () => {
    const evidence = { ...ofCilium(), nodes: [node('a', '10.0.0.1'), node('b', 'FD00::0:2')] };
    expect(judge(withTor1(evidence, toA, route('10.1.1.0/24', 'fd00::2')))).toEqual([]);
  });

  test('where peers are configured, they say which router is to hold what', () => {
    const peer = (name: string, address: string, rack: string) => ({
      name,
      address,
      port: 179,
      asn: 64524,
      localAsn: 64513,
      families: ['ipv4' as const],
      holdSeconds: 90,
      gracefulRestartSeconds: 0,
      nodeSelectors: [{ matchLabels: { rack } }],
    });
    const evidence: Evidence = {
      ...ofCilium(),
      nodes: [
        node('a', '10.0.0.1', { labels: { rack: '1' } }),
        node('b', '10.0.0.2', { labels: { rack: '2' } }),
      ],
      routers: [
        router('tor1', bothRoutes, { addresses: ['10.0.0.251'] }),
        router('tor2', [toA], { addresses: ['10.0.0.252'] }),
      ],
    };
    const apart = {
      ...evidence,
      peers: [peer('x', '10.0.0.251', '2'), peer('y', '10.0.0.252', '1')],
    };
    expect(judge(apart)).toEqual([]);
    const both = { ...apart, peers: [...apart.peers, peer('z', '10.0.0.252', '2')] };
    expect(judge(both).map(({ reason, prefix: at }) => [reason, at])).toEqual([
      ['NotHeld', '10.1.1.0/24'],
    ]);
  });

  test('a router that its node speaks with and that is not heard may hold the block', () => {
    const heard = (name: string, address: string, routes: RouterRoute[], more = {}) =>
      router(name, routes, { addresses: [address], ...more });
    const speaksWith = (peer: string, address: string, nextHop: string, cidr: string) => ({
      sessions: [{ ...session(peer, nextHop, cidr), address }],
    });
    const racks = {
      ...ofCadastre(),
      reports: [
        report('a', speaksWith('rack1', '10.0.0.251', '10.0.0.1', '10.1.0.0/24')),
        report('b', speaksWith('rack2', '10.0.0.252', '10.0.0.2', '10.1.1.0/24')),
      ],
    };
    const first = heard('tor1', '10.0.0.251', [toA]);
    const other = (routes: RouterRoute[], more = {}) => heard('tor2', '10.0.0.252', routes, more);
    const reasons = (...routers: RouterTable[]) =>
      judge({ ...racks, routers }).map(({ reason, prefix: at }) => [reason, at]);
    expect(reasons(first)).toEqual([]);
    expect(reasons(first, other([], { families: new Set() }))).toEqual([]);
    expect(reasons(first, other([toB]))).toEqual([]);
    const ofB = (...routers: RouterTable[]) =>
      reasons(...routers).flatMap(([reason, at]) => (at === '10.1.1.0/24' ? [reason] : []));
    expect(ofB(first, other([]))).toEqual(['Blackhole', 'NotHeld']);
    // Shown without any hint whose it is: it may be the one.
    expect(ofB(first, router('dump', []))).toEqual(['Blackhole', 'NotHeld']);
  });

  test('announced by the owner, held by nobody: the blackhole and its cause are both told', () => {
    const found = judge({ ...ofCadastre(), routers: [router('tor1', [toA])] });
    expect(found.map(({ reason, node: who }) => [reason, who])).toEqual([
      ['Blackhole', 'b'],
      ['NotHeld', 'b'],
    ]);
  });

  describe('why a block is not announced', () => {
    const cidr = '10.1.1.0/24';
    const stating = (
      unannounced: ReportedUnannounced[],
      sessions = [session('tor1', '10.0.0.2')],
    ) => ({
      ...ofCadastre(),
      routers: [router('tor1', [toA])],
      reports: ofCadastre().reports.map((one) =>
        one.name === 'b' ? { ...one, status: { ...one.status, sessions, unannounced } } : one,
      ),
    });
    const noNextHop = { cidr, peer: 'tor1', reason: 'NoNextHop', detail: 'b has no address' };

    test('is told in the words of the agent, with the cure for that reason', () => {
      const found = judge(stating([noNextHop, { ...noNextHop, cidr: '10.1.9.0/24' }]));
      expect(found.map(({ reason }) => reason)).toEqual(['Blackhole', 'NotAnnounced']);
      for (const { says, fix } of found) {
        expect(says['agent of b']).toBe('NoNextHop: b has no address');
        expect(fix).toContain('give b an address of that family');
      }
    });

    test('for each router, where they differ', () => {
      const refused = { cidr, peer: 'tor2', reason: 'PeerRefused', detail: 'no password' };
      const [blackhole] = judge(stating([noNextHop, refused]));
      expect(blackhole?.says['agent of b']).toBe(
        'NoNextHop: b has no address; PeerRefused: no password',
      );
      expect(blackhole?.fix).toMatch(/give b an address.*; correct the BGPPeer/);
    });

    test('leaves the cure as it is where the reason passes by itself, or is none that we know', () => {
      const plain = judge(stating([]))[0]?.fix;
      for (const reason of ['AnnouncementPending', 'toString', 'OfANewerAgent']) {
        const [blackhole] = judge(stating([{ cidr, reason, detail: 'soon' }]));
        expect(blackhole?.says['agent of b']).toBe(`${reason}: soon`);
        expect(blackhole?.fix).toBe(plain);
      }
    });

    test('a report that holds anything else there is read over', () => {
      const broken = stating('anything' as unknown as ReportedUnannounced[]);
      expect(judge(broken)[0]?.says).not.toHaveProperty('agent of b');
    });
  });

  test('a stale route is seen in mode kubernetes too, where no pool is known', () => {
    const found = judge(withTor1(ofNodes(), toA, toB, route('10.1.200.0/24', '10.0.0.99')));
    expect(found.map(({ reason }) => reason)).toEqual(['Stale']);
  });

  test('the owner of an orphan is named when a record still knows it', () => {
    const evidence = withTor1(ofCilium(), toA, toB, route('10.1.5.0/24', '10.0.0.1'));
    const found = judge({
      ...evidence,
      ciliumNodes: [...evidence.ciliumNodes, ciliumNode('gone', '10.1.5.0/24')],
    });
    expect(found.map(({ reason, owner }) => [reason, owner])).toEqual([
      ['Orphan', 'gone'],
      ['StrandedBlock', null],
    ]);
  });
});

describe('a forecast', () => {
  const grown = (joinedDaysAgo: number[]) => {
    const names = joinedDaysAgo.map((_, at) => `n${at}`);
    return {
      ...ofCadastre(),
      pools: [pool('all', ['10.1.0.0/20'], { ipv4: 24 })],
      nodes: [
        ...ofCadastre().nodes,
        ...names.map((name, at) =>
          node(name, `10.0.1.${at + 1}`, { createdMs: nowMs - joinedDaysAgo[at]! * dayMs }),
        ),
      ],
      blocks: [
        ...ofCadastre().blocks,
        ...names.map((name, at) => block(`10.1.${at + 2}.0/24`, name)),
      ],
      routers: [],
    };
  };

  test('counts the nodes of the last thirty days', () => {
    const found = judge(grown(Array.from({ length: 10 }, (_, at) => at + 1)));
    expect(found.map(({ reason, says }) => [reason, says.forecast])).toEqual([
      ['PoolNearlyFull', 'full in 12 days, as 10 nodes joined in 30 days'],
    ]);
  });

  test('is silent about what joined long ago', () => {
    expect(judge(grown(Array.from({ length: 10 }, () => 60)))).toEqual([]);
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
