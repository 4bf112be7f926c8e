/** Pairs of worlds: what the records of a cluster say of blocks (judge-records, judge-claims, judge-blocks, judge-speakers). */

import type { DoctorReason } from '../../../src/plan/doctor/finding.ts';
import { ofServices, podCidrs } from '../cilium-bgp-objects.ts';
import { block, node, nowMs, pool } from '../worlds.ts';
import { ofCadastre, ofCilium, ofNodes, type Pair, spokenTwice } from './pair.ts';

export const recordPairs = {
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
} satisfies Partial<Record<DoctorReason, Pair>>;
