/** Pairs of worlds: what agents announce and routers hold (judge-routes, judge-strays, judge-announcing, judge-hijacks). */

import type { Evidence } from '../../../src/plan/doctor/evidence.ts';
import type { DoctorReason } from '../../../src/plan/doctor/finding.ts';
import { bothRoutes, prefix, report, route, router, session } from '../worlds.ts';
import { ofCadastre, ofCilium, type Pair, toA, toB, withTor1 } from './pair.ts';

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

export const routePairs = {
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
} satisfies Partial<Record<DoctorReason, Pair>>;
