/** Small clusters as evidence: each mode in order, and pieces to put them out of order. */
import { type CiliumSettings, readCiliumConfig } from '../../src/model/cilium-config.ts';
import type { CiliumNode } from '../../src/model/cilium-node.ts';
import { type CiliumPodPool, readCiliumPodPool } from '../../src/model/cilium-pod-pool.ts';
import type { WitnessReport } from '../../src/model/cluster-kinds.ts';
import { emptyState } from '../../src/model/cluster-state.ts';
import { type Pool, readPool } from '../../src/model/ip-pool.ts';
import { apiVersion } from '../../src/model/keys.ts';
import type { ClusterNode } from '../../src/model/node.ts';
import { type Block, blockName } from '../../src/model/node-block.ts';
import type { NodeReportStatus } from '../../src/model/node-report-status.ts';
import { type Prefix, parsePrefix } from '../../src/net/prefix.ts';
import {
  type Evidence,
  evidenceOf,
  type RouterRoute,
  type RouterTable,
} from '../../src/plan/doctor/evidence.ts';

export const nowMs = Date.parse('2026-02-01T12:00:00Z');
export const dayMs = 86_400_000;

export function prefix(text: string): Prefix {
  const found = parsePrefix(text);
  if (found === undefined) throw new Error(`no prefix: ${text}`);
  return found;
}

export function node(name: string, address: string, more: Partial<ClusterNode> = {}): ClusterNode {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    labels: {},
    createdMs: nowMs - 100 * dayMs,
    podCidrs: [],
    annotations: {},
    hasAnnotations: false,
    addresses: [address],
    condition: undefined,
    ...more,
  };
}

export function ciliumNode(name: string, ...podCidrs: string[]): CiliumNode {
  return {
    name,
    uid: `cilium-${name}`,
    resourceVersion: '1',
    podCidrs,
    hasPodCidrs: true,
    hasIpam: true,
    hasSpec: true,
  };
}

export function pool(name: string, cidrs: string[], blockSize: object, more: object = {}): Pool {
  const read = readPool({
    apiVersion,
    kind: 'IPPool',
    metadata: { name, uid: `pool-${name}` },
    spec: { cidrs, blockSize, ...more },
  });
  if (read.kind !== 'pool') throw new Error(read.problems.join('; '));
  return read.pool;
}

export function podPool(
  name: string,
  cidrs: string[],
  labels: Record<string, string> = {},
  maskSize = 24,
): CiliumPodPool {
  const ofFamily = (mark: string) => cidrs.filter((one) => one.includes(mark));
  return readCiliumPodPool({
    metadata: { name, uid: `pod-pool-${name}`, labels },
    spec: { ipv4: { cidrs: ofFamily('.'), maskSize }, ipv6: { cidrs: ofFamily(':') } },
  });
}

export function block(cidr: string, nodeName: string, more: Partial<Block> = {}): Block {
  return {
    name: blockName(prefix(cidr)),
    uid: `block-${cidr}`,
    resourceVersion: '1',
    prefix: prefix(cidr),
    pool: 'all',
    nodeName,
    nodeUid: `uid-${nodeName}`,
    phase: 'Active',
    coolingSinceMs: 0,
    guards: [],
    createdMs: nowMs - 100 * dayMs,
    deleting: false,
    ...more,
  };
}

export function route(text: string, nextHop: string, more: Partial<RouterRoute> = {}): RouterRoute {
  return { prefix: prefix(text), nextHop, isUsed: true, ...more };
}

export function router(
  name: string,
  routes: RouterRoute[],
  more: Partial<RouterTable> = {},
): RouterTable {
  return { router: name, families: new Set(['ipv4', 'ipv6']), routes, addresses: [], ...more };
}

export function cilium(data: Record<string, string>, minor?: number): CiliumSettings {
  const settings = readCiliumConfig({ kind: 'ConfigMap', data });
  if (minor === undefined) return settings;
  return { ...settings, version: { major: 1, minor, from: 'a test' } };
}

export function report(name: string, status: Partial<NodeReportStatus>): WitnessReport {
  return {
    name,
    uid: `report-${name}`,
    resourceVersion: '1',
    nodeUid: `uid-${name}`,
    neededAddresses: {},
    releases: [],
    status,
  };
}

export const session = (peer: string, nextHop: string, ...prefixes: string[]) => ({
  peer,
  address: '10.0.0.250',
  asn: 64524,
  state: 'Established',
  announced: prefixes.map((one) => ({ prefix: one, nextHop })),
});

const empty: Evidence = evidenceOf(emptyState, { nowMs });

export const bothRoutes = [route('10.1.0.0/24', '10.0.0.1'), route('10.1.1.0/24', '10.0.0.2')];
const poolSettings = {
  ipam: 'cluster-pool',
  'cluster-pool-ipv4-cidr': '10.1.0.0/16',
  'cluster-pool-ipv4-mask-size': '24',
  'bgp-announce-pod-cidr': 'true',
};

/** Two nodes, a and b, in order: one world a mode. */
export const cleanWorlds = {
  'cluster-pool of Cilium': (): Evidence => ({
    ...empty,
    nodes: [node('a', '10.0.0.1'), node('b', '10.0.0.2')],
    ciliumNodes: [ciliumNode('a', '10.1.0.0/24'), ciliumNode('b', '10.1.1.0/24')],
    cilium: cilium(poolSettings, 13),
    routers: [router('tor1', bothRoutes), router('tor2', bothRoutes)],
  }),
  'kubernetes of Cilium': (): Evidence => ({
    ...empty,
    nodes: [
      node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }),
      node('b', '10.0.0.2', { podCidrs: ['10.1.1.0/24'] }),
    ],
    ciliumNodes: [ciliumNode('a', '10.1.0.0/24'), ciliumNode('b', '10.1.1.0/24')],
    cilium: cilium({ ipam: 'kubernetes', 'bgp-announce-pod-cidr': 'true' }, 11),
    routers: [router('tor1', bothRoutes), router('tor2', bothRoutes)],
  }),
  'kubernetes without Cilium': (): Evidence => ({
    ...empty,
    nodes: [
      node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24', 'fd00:1::/64'] }),
      node('b', '10.0.0.2', { podCidrs: ['10.1.1.0/24', 'fd00:1:0:1::/64'] }),
    ],
  }),
  'multi-pool of Cilium': (): Evidence => ({
    ...empty,
    nodes: [node('a', '10.0.0.1'), node('b', '10.0.0.2')],
    ciliumNodes: [
      { ...ciliumNode('a'), poolCidrs: ['10.1.0.0/24', '10.9.0.0/27'] },
      { ...ciliumNode('b'), poolCidrs: ['10.1.1.0/24'] },
    ],
    cilium: cilium({ ipam: 'multi-pool', 'enable-bgp-control-plane': 'true' }, 15),
    routers: [router('tor1', [...bothRoutes, route('10.9.0.0/27', '10.0.0.1')])],
  }),
  'ip-pool of Cadastre': (): Evidence => ({
    ...empty,
    nodes: [
      node('a', '10.0.0.1', {
        annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.1.0.0/24' },
        labels: { rack: '1' },
      }),
      node('b', '10.0.0.2', {
        annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.1.1.0/24' },
        labels: { rack: '1' },
      }),
    ],
    pools: [
      pool('all', ['10.1.0.0/16'], { ipv4: 24 }, { nodeSelector: { matchLabels: { rack: '1' } } }),
    ],
    blocks: [block('10.1.0.0/24', 'a'), block('10.1.1.0/24', 'b')],
    ciliumNodes: [ciliumNode('a', '10.1.0.0/24'), ciliumNode('b', '10.1.1.0/24')],
    reports: [
      report('a', {
        blocks: [reported('10.1.0.0/24', 1)],
        kernel: { ...noRoutes, ownRoutes: ['10.1.0.0/24'] },
        sessions: [session('tor1', '10.0.0.1', '10.1.0.0/24')],
      }),
      report('b', {
        blocks: [reported('10.1.1.0/24', 0)],
        kernel: { ...noRoutes, ownRoutes: ['10.1.1.0/24'] },
        sessions: [session('tor1', '10.0.0.2', '10.1.1.0/24')],
      }),
    ],
    pods: [
      {
        name: 'p',
        namespace: 'default',
        uid: 'pod-p',
        resourceVersion: '1',
        node: 'a',
        addresses: ['10.1.0.7'],
      },
    ],
    routers: [router('tor1', bothRoutes, { addresses: ['10.0.0.250'] })],
  }),
  'cluster-pool-v2 of Cadastre': (): Evidence => ({
    ...empty,
    mode: 'cluster-pool-v2',
    clusterPool: { ...pool('cluster-pool', ['10.1.0.0/16'], { ipv4: 24 }), uid: '' },
    // Node.spec has room for one block, and names the first.
    nodes: [node('a', '10.0.0.1', { podCidrs: ['10.1.0.0/24'] }), node('b', '10.0.0.2')],
    blocks: [block('10.1.0.0/24', 'a'), block('10.1.2.0/24', 'a'), block('10.1.1.0/24', 'b')],
    ciliumNodes: [ciliumNode('a', '10.1.2.0/24', '10.1.0.0/24'), ciliumNode('b', '10.1.1.0/24')],
    routers: [router('tor1', [...bothRoutes, route('10.1.2.0/24', '10.0.0.1')])],
  }),
} satisfies Record<string, () => Evidence>;

export const noRoutes = { wanted: 0, held: 0, repaired: 0, ownRoutes: [], refused: [] };

export function reported(cidr: string, pods: number) {
  return { cidr, pool: 'all', draining: false, pods, resting: 0, total: '254' };
}
