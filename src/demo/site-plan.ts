/**
 * The site that `cadastre up` simulates: racks with a subnet and a pool
 * each, two routers, nodes. Everything follows from a node's number, so that a
 * site can grow without a plan that somebody keeps.
 *
 * The first four nodes bear the names and addresses of a cluster on which two
 * allocators once disagreed (docs/up.md tells the story).
 */
import { peerObject, poolObject, type SimulatedNode } from '../lab/cluster/objects.ts';
import { modes } from '../model/modes.ts';
import type { KubeObject } from '../model/object.ts';

/** Every rack has a pool: the mode of IPPools. */
export const demoMode = modes['ip-pool'];

const nodeAsn = 64513;
const routerAsn = 64524;
/**
 * With the default of 90 s a thousand sessions of one process send a KEEPALIVE every 30 s,
 * which costs a hundredth of a core. On loopback a dead peer shows at once, so with many
 * nodes the hold time may be longer.
 */
export const calmHoldSeconds = 240;
const manyNodes = 50;
/** A label of the kind that people already have on their nodes. */
export const rackLabel = 'topology.kubernetes.io/rack';

export interface SitedRouter {
  name: string;
  address: string;
  asn: number;
  /** Of the nodes that speak with it. */
  nodeAsn: number;
}

export interface Site {
  nodes: SimulatedNode[];
  routers: SitedRouter[];
  pools: KubeObject[];
  peers: KubeObject[];
}

/** Blocks of a rack's pool; also how many nodes a rack takes. */
const blocksOfRack = 8;
/** Where the first rack's pool begins: 10.5.112.0. */
const firstBlock = 5 * 256 + 112;
const firstAddresses = ['10.4.94.32', '10.4.94.21', '10.4.94.31', '10.4.94.23'];

export const routers: readonly SitedRouter[] = [
  { name: 'tor1', address: '10.4.36.250', asn: routerAsn, nodeAsn },
  { name: 'tor2', address: '10.4.36.251', asn: routerAsn, nodeAsn },
];

/** Nodes are numbered from 0: three masters, then node1 and on. */
export function siteNode(index: number): SimulatedNode {
  const name = index < 3 ? `master${index + 1}` : `node${index - 2}`;
  const number = rackNumber(rackOf(index));
  // A quarter of a million nodes fit; the four known addresses keep their place.
  const address = firstAddresses[index] ?? `10.4.${number}.${40 + (Math.floor(index / 2) % 200)}`;
  return { name, addresses: [address], labels: { [rackLabel]: `rack-${number}` } };
}

/** The first rack fills first, with the four nodes of the story; then racks are filled by turns. */
function rackOf(index: number): number {
  if (index < 4) return 0;
  const place = index + 4;
  const pair = Math.floor(place / (2 * blocksOfRack));
  return 2 * pair + ((place + 1) % 2);
}

function rackNumber(rack: number): number {
  return rack === 0 ? 94 : rack === 1 ? 83 : 98 + rack;
}

function cidrOfBlock(index: number, length: number): string {
  return `10.${Math.floor(index / 256)}.${index % 256}.0/${length}`;
}

function rackPool(rack: number): KubeObject {
  const number = rackNumber(rack);
  return poolObject({
    name: `rack-${number}`,
    spec: {
      cidrs: [cidrOfBlock(firstBlock + rack * blocksOfRack, 21)],
      blockSize: { ipv4: 24 },
      nodeSelector: { matchLabels: { [rackLabel]: `rack-${number}` } },
      priority: 10,
      cooldownSeconds: 60,
    },
  });
}

/** For nodes that find the pool of their rack full. */
const overflowPool = poolObject({
  name: 'overflow',
  spec: {
    cidrs: ['10.64.0.0/12'],
    blockSize: { ipv4: 24 },
    reserved: ['10.64.0.0/20', '10.72.0.0/16'],
    cooldownSeconds: 60,
  },
});

export function planSite(nodeCount: number): Site {
  const nodes = Array.from({ length: nodeCount }, (_, index) => siteNode(index));
  const racks = Math.max(2, ...nodes.map((_, index) => rackOf(index) + 1));
  return {
    nodes,
    routers: [...routers],
    pools: [...Array.from({ length: racks }, (_, rack) => rackPool(rack)), overflowPool],
    peers: routers.map((router) =>
      peerObject(router, nodeAsn, nodeCount > manyNodes ? { holdSeconds: calmHoldSeconds } : {}),
    ),
  };
}

/** The pool that a further node needs, if its rack is new. */
export function poolOfNode(index: number): KubeObject {
  return rackPool(rackOf(index));
}

/** The site's pod address space, block by block, as a second allocator would count it. */
export function blockOfSite(index: number): string {
  return cidrOfBlock(firstBlock + index, 24);
}
