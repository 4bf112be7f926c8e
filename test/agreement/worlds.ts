/**
 * Small clusters as objects: every mode in order, and each thing that can be wrong
 * with it. What is wrong is said here, by hand; everybody who is asked must say the
 * same. Two nodes, a and b, unless a world needs more.
 */

import { apiVersion } from '../../src/model/keys.ts';
import type { ModeName } from '../../src/model/modes.ts';
import type { ReportedHijack } from '../../src/model/node-report-status.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { RouterTable } from '../../src/plan/doctor/evidence.ts';
import {
  advertisement,
  clusterConfig,
  forTor,
  nodeConfig,
  ofServices,
  peerConfig,
  peeringPolicy,
  podCidrs,
  tor1,
} from '../doctor/cilium-bgp-objects.ts';
import { route, router } from '../doctor/worlds.ts';
import {
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  second,
} from '../register/objects.ts';

export interface World {
  objects: KubeObject[];
  /** As on the command line. */
  flags?: string[];
  routers?: RouterTable[];
  /** `Reason node prefix` of every finding, sorted; `-` where it is about none. */
  findings: string[];
  /** What routers make of it in addition. */
  withRouters?: string[];
  /** Blocks by node, by the truth of the mode. */
  blocks: Record<string, string[]>;
  /** Why the next node gets none, if so. */
  refusesNext?: string;
}

const addressOf = { a: '10.0.0.1', b: '10.0.0.2', c: '10.0.0.3' } as const;
type Name = keyof typeof addressOf;
interface NodeSpec {
  podCIDRs?: string[];
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  six?: string;
}
const node = (name: Name, { six, ...spec }: NodeSpec = {}) =>
  nodeObject(name, { addresses: [addressOf[name], ...(six === undefined ? [] : [six])], ...spec });
const bare = () => [node('a'), node('b')];
const one = { a: ['10.1.0.0/24'], b: ['10.1.1.0/24'] };
const inSpec = () => [
  node('a', { podCIDRs: ['10.1.0.0/24'] }),
  node('b', { podCIDRs: ['10.1.1.0/24'] }),
];
const inCilium = () => [
  ciliumNodeObject('a', ['10.1.0.0/24']),
  ciliumNodeObject('b', ['10.1.1.0/24']),
];
const block = (cidr: string, name: string, spec = {}) =>
  blockObject(cidr, name, { pool: 'all', ...spec });
const inRegister = () => [block('10.1.0.0/24', 'a'), block('10.1.1.0/24', 'b')];
const pool = (spec = {}) =>
  poolObject('all', { cidrs: ['10.1.0.0/16'], ...spec }, { creationTimestamp: second(0) });
const ipPool = () => [pool(), ...bare(), ...inRegister()];
const mode = (name: ModeName, ...more: string[]) => ['--ipam', name, ...more];
const ranged = ['--cluster-pool-ipv4-cidr', '10.1.0.0/16'];

const configMap = (name: string, data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'kube-system' },
  data,
});
const ciliumConfig = (ipam: string, more: Record<string, string> = {}) =>
  configMap('cilium-config', {
    ipam,
    'cluster-pool-ipv4-cidr': '10.1.0.0/16',
    'cluster-pool-ipv4-mask-size': '24',
    ...more,
  });
const ciliumOperator = (...args: string[]): KubeObject => {
  const labels = { app: 'cilium-operator' };
  const containers = [{ name: 'cilium-operator', image: 'i', command: ['cilium-operator'], args }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'cilium-operator', namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
};
const podPool = (name: string, cidr: string): KubeObject => ({
  apiVersion: 'cilium.io/v2alpha1',
  kind: 'CiliumPodIPPool',
  metadata: { name, labels: { tier: 'x' } },
  spec: { ipv4: { cidrs: [cidr], maskSize: 24 } },
});
const listedOf = (pool: string): KubeObject[] =>
  (['a', 'b'] as const).map((name) => ({
    ...ciliumNodeObject(name, []),
    spec: { ipam: { podCIDRs: [], pools: { allocated: [{ pool, cidrs: one[name] }] } } },
  }));
const pooledByCilium = () => [...ipPool(), ciliumConfig('multi-pool'), ...listedOf('all')];
/** The last object is what cilium-operator makes for b, with the state of its session. */
const bgpOfCilium = (parts: object[], states: Record<string, string> = {}): KubeObject[] => [
  ciliumConfig('cluster-pool', { 'enable-bgp-control-plane': 'true' }),
  {
    apiVersion: 'cilium.io/v2alpha1',
    kind: 'CiliumLoadBalancerIPPool',
    metadata: { name: 'lb' },
    spec: { blocks: [{ cidr: '192.0.2.0/28' }] },
  },
  clusterConfig('all', [tor1]),
  peerConfig('to-tor', forTor),
  advertisement('all', ...parts),
  nodeConfig('a', [tor1]),
  nodeConfig('b', [tor1], states),
];
const metallbPool: KubeObject = {
  apiVersion: 'metallb.io/v1beta1',
  kind: 'IPAddressPool',
  metadata: { name: 'lb', namespace: 'metallb-system' },
  spec: { addresses: ['192.0.2.4-192.0.2.9'] },
};
const serviceNetwork = (cidr: string): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: [cidr] },
});
const loadBalancerPool = (addresses: string[]): KubeObject => ({
  apiVersion,
  kind: 'LoadBalancerPool',
  metadata: { name: 'lb' },
  spec: { addresses },
});
const service = (ip: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'example.com/other',
    ports: [{ port: 80 }],
    selector: { app: 'web' },
  },
  status: { loadBalancer: { ingress: [{ ip }] } },
});
const peer = (more = {}): KubeObject => ({
  apiVersion,
  kind: 'BGPPeer',
  metadata: { name: 'tor1' },
  spec: { address: '10.0.0.250', asn: 64524, localASN: 64513, ...more },
});

/** A CiliumNode whose agent has an address of its own. */
const livesAt = (name: Name, cidr: string, internal: string): KubeObject => ({
  ...ciliumNodeObject(name, [cidr]),
  spec: {
    addresses: [
      { type: 'InternalIP', ip: addressOf[name] },
      { type: 'CiliumInternalIP', ip: internal },
    ],
    ipam: { podCIDRs: [cidr] },
  },
});
const pod = (name: string, on: Name, podIP: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName: on, containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] },
});
const endpoint = (name: string, on: Name, ipv4: string): KubeObject => ({
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumEndpoint',
  metadata: { name, namespace: 'default' },
  status: { networking: { node: addressOf[on], addressing: [{ ipv4 }] } },
});

interface ReportSpec {
  cidrs?: string[];
  announced?: string[];
  state?: string;
  hijacks?: ReportedHijack[];
  findings?: Array<{ reason: string; cidr: string; detail: string }>;
  uses?: string[];
}
function report(
  name: Name,
  { cidrs, announced, state, hijacks = [], findings = [], uses = [] }: ReportSpec,
): KubeObject {
  const own = cidrs ?? one[name as 'a' | 'b'];
  const told = announced ?? own;
  return {
    apiVersion,
    kind: 'NodeReport',
    metadata: { name },
    spec: {
      nodeUID: `uid-${name}`,
      uses: uses.map((cidr) => ({ cidr, uid: `uid-${cidr}` })),
    },
    status: {
      agentVersion: '0.1.0',
      startedAt: second(0),
      blocks: own.map((cidr) => ({
        cidr,
        pool: 'all',
        draining: false,
        pods: 0,
        resting: 0,
        total: '254',
      })),
      kernel: { wanted: 1, held: 1, repaired: 0, ownRoutes: own, refused: [] },
      sessions: [
        {
          peer: 'tor1',
          address: '10.0.0.250',
          asn: 64524,
          state: state ?? 'Established',
          announced: told.map((prefix) => ({ prefix, nextHop: addressOf[name] })),
        },
      ],
      hijacks,
      findings,
      conditions: [],
    },
  };
}
const reports = () => [report('a', {}), report('b', {})];

const toA = route('10.1.0.0/24', addressOf.a);
const toB = route('10.1.1.0/24', addressOf.b);
const tor = (...routes: ReturnType<typeof route>[]) => [
  router('tor1', routes, { addresses: ['10.0.0.250'] }),
];
const right = tor(toA, toB);
const annotated = (cidr: string) => ({ 'network.cilium.io/ipv4-pod-cidr': cidr });

/** The incident: the second allocator's order against the register's. */
const swapped = () => [
  node('a', { podCIDRs: ['10.1.1.0/24'] }),
  node('b', { podCIDRs: ['10.1.0.0/24'] }),
];

export const worlds: Record<string, World> = {
  'nothing but Nodes, and no custom resource at all': {
    objects: inSpec(),
    routers: right,
    findings: [],
    blocks: one,
  },
  'mode kubernetes': {
    objects: inSpec(),
    flags: mode('kubernetes'),
    routers: right,
    findings: [],
    blocks: one,
  },
  'mode kubernetes by annotation': {
    objects: [
      node('a', { annotations: annotated('10.1.0.0/24') }),
      node('b', { annotations: annotated('10.1.1.0/24') }),
    ],
    flags: mode('kubernetes'),
    findings: [],
    blocks: one,
  },
  'mode kubernetes with both families': {
    objects: [
      node('a', { podCIDRs: ['10.1.0.0/24', 'fd00:1::/64'], six: 'fd00:9::1' }),
      node('b', { podCIDRs: ['10.1.1.0/24', 'fd00:1:0:1::/64'], six: 'fd00:9::2' }),
    ],
    flags: mode('kubernetes'),
    routers: tor(
      toA,
      toB,
      route('fd00:1::/64', 'fd00:9::1'),
      route('fd00:1:0:1::/64', 'fd00:9::2'),
    ),
    findings: [],
    blocks: { a: ['10.1.0.0/24', 'fd00:1::/64'], b: ['10.1.1.0/24', 'fd00:1:0:1::/64'] },
  },
  'mode kubernetes, the same block twice': {
    objects: [node('a', { podCIDRs: ['10.1.0.0/24'] }), node('b', { podCIDRs: ['10.1.0.0/24'] })],
    flags: mode('kubernetes'),
    findings: ['DuplicateBlock b 10.1.0.0/24'],
    blocks: { a: ['10.1.0.0/24'], b: ['10.1.0.0/24'] },
  },
  'plain Cilium': {
    objects: [...bare(), ...inCilium(), ciliumConfig('cluster-pool')],
    routers: right,
    findings: [],
    blocks: one,
  },
  'plain Cilium, and nobody shows its settings': {
    objects: [...bare(), ...inCilium()],
    routers: right,
    findings: [],
    blocks: one,
  },
  'plain Cilium in mode kubernetes': {
    objects: [...inSpec(), ...inCilium(), ciliumConfig('kubernetes')],
    routers: right,
    findings: [],
    blocks: one,
  },
  'plain Cilium in mode multi-pool': {
    objects: [...bare(), ...listedOf('default'), ciliumConfig('multi-pool')],
    routers: right,
    findings: [],
    blocks: one,
  },
  'plain Cilium beside a kube-controller-manager that allocates: the incident': {
    objects: [...swapped(), ...inCilium(), ciliumConfig('cluster-pool')],
    routers: tor(route('10.1.0.0/24', addressOf.b), route('10.1.1.0/24', addressOf.a)),
    findings: [
      'SecondAllocator - -',
      'SourcesDisagree a 10.1.0.0/24',
      'SourcesDisagree b 10.1.1.0/24',
    ],
    withRouters: ['Detour a 10.1.1.0/24', 'Detour b 10.1.0.0/24'],
    blocks: one,
  },
  'ip-pool': {
    objects: [...ipPool(), ...reports()],
    flags: mode('ip-pool'),
    routers: right,
    findings: [],
    blocks: one,
  },
  'ip-pool, read off the cluster': {
    objects: [...ipPool(), ...reports()],
    routers: right,
    findings: [],
    blocks: one,
  },
  'ip-pool with both families': {
    objects: [
      poolObject('all', { cidrs: ['10.1.0.0/16', 'fd00:1::/48'] }),
      node('a', { six: 'fd00:9::1' }),
      node('b', { six: 'fd00:9::2' }),
      ...inRegister(),
      block('fd00:1::/64', 'a'),
      block('fd00:1:0:1::/64', 'b'),
    ],
    flags: mode('ip-pool'),
    findings: [],
    blocks: { a: ['10.1.0.0/24', 'fd00:1::/64'], b: ['10.1.1.0/24', 'fd00:1:0:1::/64'] },
  },
  'ip-pool before the first block, over what nodes hold': {
    objects: [pool(), ...inSpec()],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'ip-pool before the first block, where CiliumNode and Node.spec differ': {
    objects: [pool(), ...swapped(), ...inCilium()],
    flags: mode('ip-pool'),
    findings: [
      'SecondAllocator - -',
      'SourcesDisagree a 10.1.0.0/24',
      'SourcesDisagree b 10.1.1.0/24',
    ],
    blocks: one,
  },
  'ip-pool, with a block that cools down after its node moved': {
    objects: [
      pool({ cooldownSeconds: 1_000_000_000 }),
      ...bare(),
      ...inRegister(),
      block('10.1.7.0/24', 'a', { phase: 'Cooling' }),
      ...reports(),
    ],
    flags: mode('ip-pool'),
    routers: right,
    findings: [],
    blocks: one,
  },
  'ip-pool, a Node that carries a second allocator’s block': {
    objects: [pool(), ...swapped(), ...inRegister(), ...reports()],
    flags: mode('ip-pool'),
    routers: right,
    findings: [
      'SecondAllocator - -',
      'SourcesDisagree a 10.1.0.0/24',
      'SourcesDisagree b 10.1.1.0/24',
    ],
    blocks: one,
  },
  'ip-pool, an annotation that somebody changed': {
    objects: [
      pool(),
      node('a', { annotations: annotated('10.1.9.0/24') }),
      node('b'),
      ...inRegister(),
    ],
    flags: mode('ip-pool'),
    findings: ['SourcesDisagree a 10.1.0.0/24'],
    blocks: one,
  },
  'ip-pool with a Service network inside the pool': {
    objects: [...ipPool(), serviceNetwork('10.1.128.0/24')],
    flags: mode('ip-pool'),
    findings: ['OverlapsNetwork - 10.1.0.0/16'],
    blocks: one,
    refusesNext: 'OverlapsNetwork',
  },
  'ip-pool with a Service network that the pool reserves': {
    objects: [
      pool({ reserved: ['10.1.128.0/24'] }),
      ...bare(),
      ...inRegister(),
      serviceNetwork('10.1.128.0/24'),
    ],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'ip-pool, a block outside of all pools': {
    objects: [pool(), ...bare(), block('10.1.0.0/24', 'a'), block('10.9.0.0/24', 'b')],
    flags: mode('ip-pool'),
    findings: ['OutsidePools b 10.9.0.0/24'],
    blocks: { a: ['10.1.0.0/24'], b: ['10.9.0.0/24'] },
  },
  'ip-pool, a block of a node that is gone': {
    objects: [...ipPool(), block('10.1.5.0/24', 'gone')],
    flags: mode('ip-pool'),
    findings: ['StrandedBlock gone 10.1.5.0/24'],
    blocks: one,
  },
  'ip-pool, a full pool': {
    objects: [poolObject('all', { cidrs: ['10.1.0.0/23'] }), ...bare(), ...inRegister()],
    flags: mode('ip-pool'),
    findings: ['PoolNearlyFull - 10.1.0.0/23'],
    blocks: one,
    refusesNext: 'PoolExhausted',
  },
  'ip-pool, a pool that selects nobody': {
    objects: [pool({ labels: { rack: '1' } }), ...bare(), ...inRegister()],
    flags: mode('ip-pool'),
    findings: ['NoPoolForGroup a -'],
    blocks: one,
    refusesNext: 'NoPoolSelectsNode',
  },
  'ip-pool, blocks of two sizes that overlap': {
    objects: [pool(), ...bare(), block('10.1.0.0/24', 'a'), block('10.1.0.0/23', 'b')],
    flags: mode('ip-pool'),
    findings: ['OverlappingBlocks a 10.1.0.0/24'],
    blocks: { a: ['10.1.0.0/24'], b: ['10.1.0.0/23'] },
  },
  'cluster-pool of Cadastre': {
    objects: [
      ...bare(),
      ...inCilium(),
      ...['a', 'b'].map((name, at) =>
        blockObject(`10.1.${at}.0/24`, name, { pool: 'cluster-pool' }),
      ),
    ],
    flags: mode('cluster-pool', ...ranged),
    routers: right,
    findings: [],
    blocks: one,
  },
  'cluster-pool around a Service network, as Cilium and kubeadm have it by default': {
    objects: [...bare(), ...inCilium(), serviceNetwork('10.96.0.0/12')],
    flags: mode('cluster-pool', '--cluster-pool-ipv4-cidr', '10.0.0.0/8'),
    findings: [],
    blocks: one,
  },
  'cluster-pool-v2, a node with two blocks': {
    objects: [
      ...bare(),
      ...['10.1.0.0/24', '10.1.2.0/24'].map((cidr) =>
        blockObject(cidr, 'a', { pool: 'cluster-pool' }),
      ),
      blockObject('10.1.1.0/24', 'b', { pool: 'cluster-pool' }),
      ciliumNodeObject('a', ['10.1.0.0/24', '10.1.2.0/24']),
      ciliumNodeObject('b', ['10.1.1.0/24']),
    ],
    flags: mode('cluster-pool-v2', ...ranged),
    findings: [],
    blocks: { a: ['10.1.0.0/24', '10.1.2.0/24'], b: ['10.1.1.0/24'] },
  },
  'addresses of Services, from a LoadBalancerPool': {
    objects: [...ipPool(), ...reports(), loadBalancerPool(['192.0.2.0/28'])],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'an address of a Service that another controller gave': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', { announced: ['10.1.0.0/24', '192.0.2.7/32'] }),
      report('b', {}),
      service('192.0.2.7'),
    ],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'an address of nobody': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', { announced: ['10.1.0.0/24', '192.0.2.7/32'] }),
      report('b', {}),
    ],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('192.0.2.7/32', addressOf.a)),
    findings: ['UnknownPrefix a 192.0.2.7/32'],
    blocks: one,
  },
  'addresses of Services, from the ConfigMap of MetalLB’s form': {
    objects: [
      ...ipPool(),
      ...reports(),
      configMap('bgp-config', {
        'config.yaml':
          'peers: []\naddress-pools:\n  - name: default\n    protocol: bgp\n    addresses: [192.0.2.0/28]\n',
      }),
    ],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'addresses of Services, from Cilium’s pool': {
    objects: [
      ...ipPool(),
      {
        apiVersion: 'cilium.io/v2alpha1',
        kind: 'CiliumLoadBalancerIPPool',
        metadata: { name: 'lb' },
        spec: {
          blocks: [{ cidr: '192.0.2.0/28' }, { start: '198.51.100.4', stop: '198.51.100.9' }],
        },
      },
    ],
    flags: mode('ip-pool'),
    routers: tor(
      toA,
      toB,
      route('192.0.2.7/32', addressOf.a),
      route('198.51.100.9/32', addressOf.b),
    ),
    findings: [],
    blocks: one,
  },
  'addresses of Services, from MetalLB’s pool': {
    objects: [...ipPool(), metallbPool],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'Cilium announces Services alone': {
    objects: [...bare(), ...inCilium(), ...bgpOfCilium([ofServices])],
    routers: tor(route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'Cilium announces blocks': {
    objects: [...bare(), ...inCilium(), ...bgpOfCilium([ofServices, podCidrs])],
    routers: tor(toA, toB),
    findings: [],
    blocks: one,
  },
  'Cilium has no BGP configuration for a node': {
    objects: [...bare(), ...inCilium(), ...bgpOfCilium([podCidrs]).slice(0, -1)],
    routers: tor(toA),
    findings: ['NotAnnounced b 10.1.1.0/24'],
    withRouters: ['Blackhole b 10.1.1.0/24'],
    blocks: one,
  },
  'Cilium’s session with its router is down': {
    objects: [...bare(), ...inCilium(), ...bgpOfCilium([podCidrs], { tor1: 'active' })],
    routers: tor(toA),
    findings: ['NotAnnounced b 10.1.1.0/24'],
    withRouters: ['Blackhole b 10.1.1.0/24'],
    blocks: one,
  },
  'Cilium’s older way: a peering policy that exports blocks': {
    objects: [
      ...bare(),
      ...inCilium(),
      ...bgpOfCilium([]).slice(0, 2),
      peeringPolicy('all', { exportPodCIDR: true }),
    ],
    routers: tor(toA, toB),
    findings: [],
    blocks: one,
  },
  'kube-controller-manager gives blocks, and MetalLB announces Services': {
    objects: [...inSpec(), metallbPool],
    flags: mode('kubernetes'),
    routers: tor(route('192.0.2.7/32', addressOf.a)),
    findings: [],
    blocks: one,
  },
  'a router with a default route and a route to somewhere else': {
    objects: [...ipPool(), ...reports()],
    flags: mode('ip-pool'),
    routers: tor(toA, toB, route('0.0.0.0/0', '10.0.0.254'), route('172.16.0.0/12', '10.0.0.253')),
    findings: [],
    blocks: one,
  },
  'a router that lacks a block': {
    objects: ipPool(),
    flags: mode('ip-pool'),
    routers: tor(toA),
    findings: [],
    withRouters: ['Blackhole b 10.1.1.0/24'],
    blocks: one,
  },
  'a router that leads to another node, to no node, and to nobody’s block': {
    objects: ipPool(),
    flags: mode('ip-pool'),
    routers: tor(
      route('10.1.0.0/24', addressOf.b),
      route('10.1.1.0/24', '10.0.0.77'),
      route('10.1.8.0/24', addressOf.a),
      route('10.1.9.0/24', '10.0.0.78'),
    ),
    findings: [],
    withRouters: [
      'Detour b 10.1.0.0/24',
      'Orphan a 10.1.8.0/24',
      'Stale - 10.1.9.0/24',
      'WrongNextHop b 10.1.1.0/24',
    ],
    blocks: one,
  },
  'an agent that announces nothing to its router': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', {}),
      report('b', { announced: [], state: 'Active' }),
      peer(),
    ],
    flags: mode('ip-pool'),
    findings: ['NotAnnounced b 10.1.1.0/24'],
    blocks: one,
  },
  'an agent that uses another block than the register gives it': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', { cidrs: ['10.1.4.0/24'], announced: ['10.1.0.0/24'] }),
      report('b', {}),
    ],
    flags: mode('ip-pool'),
    findings: ['SourcesDisagree a 10.1.0.0/24'],
    blocks: one,
  },
  'an agent with pods in no block of its node': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', {
        findings: [{ reason: 'PodsOutsideBlocks', cidr: '', detail: '10.1.9.4 of default/web' }],
      }),
      report('b', {}),
    ],
    flags: mode('ip-pool'),
    findings: ['PodsOutsideBlocks a -'],
    blocks: one,
  },
  'an agent of Cilium that serves from a block of another node': {
    objects: [...ipPool(), livesAt('a', '10.1.0.0/24', '10.1.1.9'), inCilium()[1]!],
    flags: mode('ip-pool'),
    findings: ['AgentOnOldBlock a 10.1.1.0/24'],
    blocks: one,
  },
  'an agent of Cilium in the block of its node': {
    objects: [...ipPool(), livesAt('a', '10.1.0.0/24', '10.1.0.9'), inCilium()[1]!],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'an address on two pods, by their status': {
    objects: [...ipPool(), pod('x', 'a', '10.1.1.28'), pod('y', 'b', '10.1.1.28')],
    flags: mode('ip-pool'),
    findings: ['DuplicateAddress a 10.1.1.28/32', 'PodsOutsideBlocks a -'],
    blocks: one,
  },
  'an address on two pods, by their endpoints': {
    objects: [...ipPool(), endpoint('x', 'a', '10.1.1.28'), endpoint('y', 'b', '10.1.1.28')],
    flags: mode('ip-pool'),
    findings: ['DuplicateAddress a 10.1.1.28/32', 'PodsOutsideBlocks a -'],
    blocks: one,
  },
  'cilium-operator that gives out blocks beside Cadastre': {
    objects: [...ipPool(), ciliumConfig('cluster-pool'), ciliumOperator('--debug')],
    flags: mode('ip-pool'),
    findings: ['SecondAllocator - -'],
    blocks: one,
  },
  'cilium-operator of mode multi-pool beside Cadastre': {
    objects: [...ipPool(), ciliumConfig('kubernetes'), ciliumOperator('--ipam=multi-pool')],
    flags: mode('ip-pool'),
    findings: ['SecondAllocator - -'],
    blocks: one,
  },
  'cilium-operator of mode multi-pool, on the addresses of Cadastre': {
    objects: [
      ...ipPool(),
      ciliumConfig('kubernetes'),
      ciliumOperator('--ipam=multi-pool'),
      podPool('far', '10.9.0.0/16'),
      podPool('near', '10.1.128.0/17'),
    ],
    flags: mode('ip-pool'),
    findings: ['SecondAllocator - -'],
    blocks: one,
  },
  'cilium-operator of mode multi-pool, on other addresses than Cadastre': {
    objects: [
      ...ipPool(),
      ciliumConfig('kubernetes'),
      ciliumOperator('--ipam=multi-pool'),
      podPool('far', '10.9.0.0/16'),
    ],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'mode multi-pool, beside CiliumPodIPPools of the same CIDRs': {
    objects: [...pooledByCilium(), podPool('all', '10.1.0.0/16')],
    flags: mode('multi-pool'),
    findings: [],
    blocks: one,
  },
  'mode multi-pool, and the CiliumPodIPPool has not all addresses of the IPPool': {
    objects: [...pooledByCilium(), podPool('all', '10.1.0.0/17')],
    flags: mode('multi-pool'),
    findings: ['PoolsDiffer - 10.1.0.0/16'],
    blocks: one,
  },
  'mode multi-pool, and cilium-operator gives out blocks of other addresses': {
    objects: [
      ...pooledByCilium(),
      podPool('far', '10.9.0.0/16'),
      ciliumOperator('--ipam=multi-pool'),
    ],
    flags: mode('multi-pool'),
    findings: ['SecondAllocator - -'],
    blocks: one,
  },
  "our agents and Cilium's BGP announce the same blocks to one router": {
    objects: [...ipPool(), ...inCilium(), ...reports(), ...bgpOfCilium([podCidrs])],
    flags: mode('ip-pool'),
    routers: right,
    findings: ['SecondSpeaker a 10.1.0.0/24', 'SecondSpeaker b 10.1.1.0/24'],
    blocks: one,
  },
  "our agents announce blocks, and Cilium's BGP Services alone": {
    objects: [...ipPool(), ...inCilium(), ...reports(), ...bgpOfCilium([ofServices])],
    flags: mode('ip-pool'),
    routers: right,
    findings: [],
    blocks: one,
  },
  'cilium-operator that gives out nothing beside Cadastre': {
    objects: [...ipPool(), ciliumConfig('cluster-pool'), ciliumOperator('--ipam=kubernetes')],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'agents that say which blocks they use': {
    objects: [
      ...ipPool(),
      report('a', { uses: ['10.1.0.0/24'] }),
      report('b', { uses: ['10.1.1.0/24'] }),
    ],
    flags: mode('ip-pool'),
    findings: [],
    blocks: one,
  },
  'a register that lost a block which an agent uses': {
    objects: [
      pool(),
      ...bare(),
      block('10.1.1.0/24', 'b'),
      report('a', { uses: ['10.1.0.0/24'] }),
      report('b', { uses: ['10.1.1.0/24'] }),
    ],
    flags: mode('ip-pool'),
    findings: ['RestoredFromBackup a 10.1.0.0/24'],
    blocks: one,
  },
  'a register that lost the second block of a node': {
    objects: [
      ...bare(),
      block('10.1.0.0/24', 'a'),
      block('10.1.1.0/24', 'b'),
      report('a', {
        uses: ['10.1.0.0/24', '10.1.4.0/24'],
        cidrs: ['10.1.0.0/24', '10.1.4.0/24'],
      }),
      report('b', { uses: ['10.1.1.0/24'] }),
    ],
    flags: mode('cluster-pool-v2', ...ranged),
    findings: ['RestoredFromBackup a 10.1.4.0/24', 'SourcesDisagree a 10.1.0.0/24, 10.1.4.0/24'],
    blocks: { a: ['10.1.0.0/24', '10.1.4.0/24'], b: ['10.1.1.0/24'] },
  },
  'a register that gives to another what an agent uses': {
    objects: [
      ...ipPool(),
      report('a', { uses: ['10.1.0.0/24', '10.1.1.0/24'] }),
      report('b', { uses: ['10.1.1.0/24'] }),
    ],
    flags: mode('ip-pool'),
    findings: ['RestoredFromBackup a 10.1.1.0/24'],
    blocks: one,
  },
  'a router that reaches a block elsewhere': {
    objects: [
      pool(),
      ...bare(),
      ...inRegister(),
      report('a', {
        hijacks: [
          { cidr: '10.1.0.0/24', prefix: '10.1.0.0/24', peer: 'tor1', nextHop: '10.0.0.9' },
        ],
      }),
      report('b', {}),
    ],
    flags: mode('ip-pool'),
    findings: ['Hijacked a 10.1.0.0/24'],
    blocks: one,
  },
  'a node without a block': {
    objects: [pool({ disabled: true }), ...bare(), block('10.1.0.0/24', 'a')],
    flags: mode('ip-pool'),
    findings: [],
    blocks: { a: ['10.1.0.0/24'], b: [] },
    refusesNext: 'PoolDisabled',
  },
};
