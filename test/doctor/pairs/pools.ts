/** Pairs of worlds: pools, and blocks that cool down (judge-pools, judge-blocks). */

import { expect } from 'vitest';
import type { Evidence } from '../../../src/plan/doctor/evidence.ts';
import type { DoctorReason } from '../../../src/plan/doctor/finding.ts';
import { block, cilium, ciliumNode, node, podPool, pool, prefix } from '../worlds.ts';
import { ofCadastre, ofCilium, type Pair } from './pair.ts';

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

/** Mode multi-pool of Cadastre, with the CiliumPodIPPool of the same name as the IPPool. */
const inPools = (...cidrs: string[]): Evidence => ({
  ...ofCadastre(),
  mode: 'multi-pool',
  ciliumPodPools: [podPool('all', cidrs), podPool('other', ['10.3.0.0/16'])],
});

export const poolPairs = {
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
} satisfies Partial<Record<DoctorReason, Pair>>;
