/** A large site as files: dual-stack nodes of plain Cilium, and four routers, one of each kind. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SiteFiles {
  objects: string[];
  ribs: Array<[router: string, file: string]>;
  bytes: number;
}

interface SiteNode {
  name: string;
  address: string;
  address6: string;
  block: string;
  block6: string;
}

function siteNodes(count: number): SiteNode[] {
  return Array.from({ length: count }, (_, at) => {
    const [high, low] = [at >>> 8, at & 255];
    return {
      name: `node-${String(at).padStart(5, '0')}`,
      address: `172.16.${high}.${low}`,
      address6: `fd00:94::${at.toString(16)}`,
      block: `10.${high}.${low}.0/24`,
      block6: `fd00:5:0:${at.toString(16)}::/64`,
    };
  });
}

/** Of every tenth node the second family enters at its neighbour: findings have to be written too. */
const entersAt = (nodes: readonly SiteNode[], at: number, isV6: boolean) =>
  isV6 && at % 10 === 0 ? nodes[(at + 1) % nodes.length]! : nodes[at]!;

export function writeSite(folder: string, count: number): SiteFiles {
  const nodes = siteNodes(count);
  let bytes = 0;
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    bytes += text.length;
    writeFileSync(path, text);
    return path;
  };
  const objects = [
    write(
      'nodes.json',
      JSON.stringify({ apiVersion: 'v1', kind: 'NodeList', items: nodes.map(asNode) }),
    ),
    write(
      'ciliumnodes.json',
      JSON.stringify({
        apiVersion: 'cilium.io/v2',
        kind: 'CiliumNodeList',
        items: nodes.map(({ name, block, block6, address }) => ({
          metadata: { name },
          spec: {
            addresses: [{ ip: address, type: 'InternalIP' }],
            ipam: { podCIDRs: [block, block6] },
          },
        })),
      }),
    ),
    write('cilium-config.json', JSON.stringify(ciliumConfig)),
  ];
  const v4 = nodes.map((node, at) => ({
    prefix: node.block,
    to: entersAt(nodes, at, false).address,
    from: node.address,
  }));
  const v6 = nodes.map((node, at) => ({
    prefix: node.block6,
    to: entersAt(nodes, at, true).address6,
    from: node.address,
  }));
  const ribs: SiteFiles['ribs'] = [
    ['tor1', write('tor1-4.json', frr(v4))],
    ['tor1', write('tor1-6.json', frr(v6))],
    ['tor2', write('tor2.txt', bird(v4, v6))],
    ['tor3', write('tor3-4.json', gobgp(v4, 3))],
    ['tor3', write('tor3-6.json', gobgp(v6, 14))],
    ['tor4', write('tor4.json', openbgpd([...v4, ...v6]))],
  ];
  return { objects, ribs, bytes };
}

/** As large as `kubectl get nodes -o json` makes them: most of it is images and conditions. */
function asNode({ name, address, address6 }: SiteNode) {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: '2025-01-01T00:00:00Z',
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': 'a', rack: '83' },
    },
    spec: {},
    status: {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'InternalIP', address: address6 },
        { type: 'Hostname', address: name },
      ],
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2025-01-01T00:00:00Z',
        reason: `Kubelet${type}`,
        message: `the kubelet says so about ${type}`,
      })),
      images: Array.from({ length: 10 }, (_, at) => ({
        names: [`registry.example/group/image-${at}@sha256:${'0123456789abcdef'.repeat(4)}`],
        sizeBytes: 100_000_000 + at,
      })),
    },
  };
}

const ciliumConfig = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'cilium-config', namespace: 'kube-system' },
  data: {
    ipam: 'cluster-pool',
    'cluster-pool-ipv4-cidr': '10.0.0.0/8',
    'cluster-pool-ipv6-cidr': 'fd00:5::/48',
    'cluster-pool-ipv6-mask-size': '64',
    'enable-ipv6': 'true',
    'enable-bgp-control-plane': 'true',
  },
};

interface Held {
  prefix: string;
  to: string;
  from: string;
}

function frr(routes: readonly Held[]): string {
  const table = Object.fromEntries(
    routes.map(({ prefix, to, from }) => [
      prefix,
      [
        {
          valid: true,
          bestpath: true,
          selectionReason: 'First path received',
          pathFrom: 'external',
          prefix: prefix.split('/')[0],
          prefixLen: Number(prefix.split('/')[1]),
          network: prefix,
          version: 1,
          weight: 0,
          peerId: from,
          path: '64513',
          origin: 'IGP',
          nexthops: [{ ip: to, afi: to.includes(':') ? 'ipv6' : 'ipv4', used: true }],
        },
      ],
    ]),
  );
  return JSON.stringify({
    vrfId: 0,
    vrfName: 'default',
    routerId: '10.4.94.250',
    localAS: 64524,
    routes: table,
  });
}

function bird(v4: readonly Held[], v6: readonly Held[]): string {
  const table = (name: string, routes: readonly Held[]) =>
    `Table ${name}:\n${routes
      .map(
        ({ prefix, to, from }) =>
          `${prefix.padEnd(20)} unicast [n${from.replaceAll('.', '_')} 19:44:01.321 from ${from}] * (100) [AS64513i]\n\tvia ${to} on eth0\n\tType: BGP univ\n\tBGP.origin: IGP\n\tBGP.as_path: 64513\n\tBGP.next_hop: ${to}\n\tBGP.local_pref: 100\n`,
      )
      .join('')}`;
  return `BIRD 2.0.12 ready.\n${table('master4', v4)}\n${table('master6', v6)}`;
}

function gobgp(routes: readonly Held[], attribute: 3 | 14): string {
  return JSON.stringify(
    Object.fromEntries(
      routes.map(({ prefix, to, from }) => [
        prefix,
        [
          {
            nlri: { prefix },
            age: 1794771772,
            best: true,
            attrs: [
              { type: 1, value: 0 },
              { type: 2, as_paths: [{ segment_type: 2, num: 1, asns: [64513] }] },
              { type: attribute, nexthop: to },
            ],
            stale: false,
            'source-id': from,
            'neighbor-ip': from,
          },
        ],
      ]),
    ),
  );
}

function openbgpd(routes: readonly Held[]): string {
  const rib = routes.map(({ prefix, to, from }) => ({
    prefix,
    aspath: '64513',
    exit_nexthop: to,
    true_nexthop: to,
    neighbor: { remote_addr: from, bgp_id: from },
    valid: true,
    best: true,
    source: 'external',
    origin: 'IGP',
    metric: 0,
    localpref: 100,
    weight: 0,
    last_update: '00:00:03',
    last_update_sec: 3,
  }));
  return JSON.stringify({ rib }, null, '\t');
}
