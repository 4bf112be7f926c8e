/**
 * What a cluster is, as far as its blocks and routes go: one value, wherever it
 * came from. Files, one list and a watch each fill in items (cluster-kinds.ts);
 * this puts them together, once and for everybody.
 *
 * What nobody looked at is absent; an empty list says that there is none.
 */
import type { Prefix } from '../net/prefix.ts';
import type { BgpPeer } from './bgp-peer.ts';
import type { BlockLog } from './block-history.ts';
import type { CiliumBgp } from './cilium-bgp.ts';
import type { CiliumSettings, CiliumVersion } from './cilium-config.ts';
import type { CiliumEndpoint } from './cilium-endpoint.ts';
import type { CiliumNode } from './cilium-node.ts';
import type { CiliumOperator } from './cilium-operator.ts';
import type { CiliumPodPool } from './cilium-pod-pool.ts';
import { isAtLeast } from './cilium-support.ts';
import {
  bgpConfigName,
  type ClusterItems,
  type ClusterKind,
  ciliumBgpKinds,
  clusterKindOf,
  clusterKinds,
  foreignServicePoolKinds,
  type KeptConfigMap,
  type WitnessReport,
} from './cluster-kinds.ts';
import type { Pool } from './ip-pool.ts';
import { networksOfRange, networksOfText } from './load-balancer-networks.ts';
import type { LoadBalancerPool } from './load-balancer-pool.ts';
import type { ModeName } from './modes.ts';
import type { NamedNetwork } from './network.ts';
import type { ClusterNode } from './node.ts';
import type { Block } from './node-block.ts';
import type { NodeMigration } from './node-migration.ts';
import type { KubeObject } from './object.ts';
import type { OperatorReport } from './operator-report.ts';
import type { ClusterPod } from './pod.ts';
import type { ServiceAddress } from './service-address.ts';

export interface ClusterState {
  /** How blocks are given out, if somebody said so (`--ipam`); otherwise it is read off the rest. */
  mode?: ModeName | undefined;
  /** The pool of the cluster-pool modes, from flags; else the operator's, else that of cilium-config. */
  clusterPool?: Pool | undefined;
  /** How the operator that leads was started; undefined: not looked at, or none ever led. */
  operator?: OperatorReport | undefined;
  nodes: readonly ClusterNode[];
  pools: readonly Pool[];
  blocks: readonly Block[];
  reports: readonly WitnessReport[];
  ciliumNodes: readonly CiliumNode[];
  /** Which addresses Cilium's agents gave to pods; undefined: not looked at, or none. */
  ciliumEndpoints?: readonly CiliumEndpoint[] | undefined;
  /** Networks of Services inside the cluster: no pod has an address there. */
  serviceNetworks: readonly NamedNetwork[];
  servicePools: readonly LoadBalancerPool[];
  serviceAddresses: readonly ServiceAddress[];
  /** Addresses of load balancers, from pools and Services of whoever: routes to them are right. */
  loadBalancerNetworks: readonly Prefix[];
  /** Which nodes have sessions with which routers. */
  peers: readonly BgpPeer[];
  /** cilium-config, and the version of the cilium DaemonSet. */
  cilium?: CiliumSettings | undefined;
  /** The Deployment cilium-operator; undefined: it was not to be seen. */
  ciliumOperator?: CiliumOperator | undefined;
  /** Cilium's objects about BGP; undefined: not looked at, or none. */
  ciliumBgp?: CiliumBgp | undefined;
  /** Kinds of those objects that could not be read: there may be some. */
  unreadCiliumBgp?: readonly string[] | undefined;
  /** CiliumPodIPPools; undefined: not looked at, or none. */
  ciliumPodPools?: readonly CiliumPodPool[] | undefined;
  /** MetalLB has pools here: it announces Services, and never blocks of pods. */
  hasMetallb?: boolean | undefined;
  /** kube-controller-manager's --allocate-node-cidrs; undefined: its Pod was not to be seen. */
  controllerManagerAllocates?: boolean | undefined;
  /** Pods with addresses; undefined: pods were not looked at. */
  pods?: readonly ClusterPod[] | undefined;
  history: readonly BlockLog[];
  migrations: readonly NodeMigration[];
  /** Objects that could not be understood. */
  malformed: readonly MalformedObject[];
}

export interface MalformedObject {
  /** `IPPool`, `NodeBlock`, … */
  kind: string;
  name: string;
  /** Clauses that begin with the field's path. */
  problems: readonly string[];
}

/** The items of each kind that was looked at. */
export type ItemLists = { readonly [K in ClusterKind]?: Iterable<ClusterItems[K]> | undefined };

/** What is known beside the objects: from flags. */
export interface StatedSettings {
  mode?: ModeName | undefined;
  clusterPool?: Pool | undefined;
  serviceNetworks?: readonly NamedNetwork[] | undefined;
  ciliumVersion?: CiliumVersion | undefined;
  /** The ConfigMap of BGP peers and address pools. */
  bgpConfigMap?: { namespace: string; name: string } | undefined;
}

export function clusterState(
  items: ItemLists,
  stated: StatedSettings = {},
  malformed: readonly MalformedObject[] = [],
  unread: ReadonlyMap<ClusterKind, string> = new Map(),
): ClusterState {
  const all = <K extends ClusterKind>(kind: K) => [
    ...((items[kind] ?? []) as Iterable<ClusterItems[K]>),
  ];
  const [operator] = all('operatorReports');
  const { bgpConfigMap = operator?.bgpConfigMap } = stated;
  const bgp = all('configMaps').find((map) => isBgpConfig(map, bgpConfigMap))?.bgp;
  const servicePools = all('servicePools').flatMap((read) =>
    read.kind === 'pool' ? [read.pool] : [],
  );
  const serviceAddresses = all('serviceAddresses');
  const pods = all('pods');
  const endpoints = all('ciliumEndpoints').filter(({ addresses }) => addresses.length > 0);
  const podPools = all('ciliumPodPools');
  const cilium = ciliumOf(all('configMaps'), all('daemonSets'), stated.ciliumVersion);
  const manager = pods.find(({ allocatesNodeCidrs }) => allocatesNodeCidrs !== undefined);
  const addressed = pods.filter(({ addresses }) => addresses.length > 0);
  return {
    mode: stated.mode,
    clusterPool: stated.clusterPool,
    operator,
    nodes: all('nodes'),
    pools: all('pools').flatMap(({ read }) => (read.kind === 'pool' ? [read.pool] : [])),
    blocks: all('blocks'),
    reports: all('reports'),
    ciliumNodes: all('ciliumNodes'),
    ciliumEndpoints: endpoints.length > 0 ? endpoints : undefined,
    serviceNetworks: [
      ...(stated.serviceNetworks ?? []),
      ...(operator?.serviceNetworks ?? []).filter(
        ({ prefix }) => !stated.serviceNetworks?.some((known) => known.prefix.equals(prefix)),
      ),
      ...all('serviceCidrs').flatMap(({ networks }) => networks),
    ],
    servicePools,
    serviceAddresses,
    loadBalancerNetworks: [
      ...servicePools.flatMap(({ ranges }) => ranges.flatMap(networksOfRange)),
      ...(bgp?.pools ?? []).flatMap(({ addresses }) => addresses.flatMap(networksOfRange)),
      ...serviceAddresses.flatMap(({ address }) => networksOfText(address.toString())),
      ...all('services').flatMap((one) => one.externalAddresses.flatMap(networksOfText)),
      ...foreignServicePoolKinds.flatMap((kind) => all(kind).flatMap(({ networks }) => networks)),
    ],
    peers: [
      ...all('peers').flatMap((read) => (read.kind === 'peer' ? [read.peer] : [])),
      ...(bgp?.peers ?? []),
    ],
    cilium,
    ciliumOperator: all('deployments').find(({ ciliumOperator }) => ciliumOperator !== undefined)
      ?.ciliumOperator,
    ciliumBgp: ciliumBgpKinds.every((kind) => all(kind).length === 0)
      ? undefined
      : {
          clusterConfigs: all('ciliumBgpClusterConfigs'),
          peerConfigs: all('ciliumBgpPeerConfigs'),
          advertisements: all('ciliumBgpAdvertisements'),
          nodeConfigs: all('ciliumBgpNodeConfigs'),
          peeringPolicies: all('ciliumBgpPeeringPolicies'),
        },
    unreadCiliumBgp: unreadBgpKinds(unread, cilium),
    ciliumPodPools: podPools.length > 0 ? podPools : undefined,
    hasMetallb: all('metallbPools').length + all('metallbOldPools').length > 0,
    controllerManagerAllocates: manager?.allocatesNodeCidrs,
    // Files without a Pod say nothing of pods.
    pods: addressed.length > 0 ? addressed : undefined,
    history: all('histories').flatMap(({ logs }) => logs),
    migrations: all('migrations'),
    malformed,
  };
}

/** Objects as they are, of any of the kinds; what cannot be understood is in `malformed`. */
export function stateOfObjects(
  objects: Iterable<KubeObject>,
  stated: StatedSettings = {},
): ClusterState {
  const items: Record<string, unknown[]> = {};
  const malformed: MalformedObject[] = [];
  for (const object of objects) {
    const kind = clusterKindOf(object);
    if (kind === undefined) continue;
    const { item, problems } = clusterKinds[kind].read(object);
    if (problems.length > 0) {
      malformed.push({ kind: `${object.kind}`, name: object.metadata?.name ?? '', problems });
    }
    items[kind] ??= [];
    if (item !== undefined) items[kind].push(item);
  }
  return clusterState(items as ItemLists, stated, malformed);
}

/** A cluster of which nothing is known; for worlds in tests, and for what-ifs. */
export const emptyState: ClusterState = clusterState({});

function isBgpConfig(
  { namespace, name, bgp }: KeptConfigMap,
  bgpConfigMap: StatedSettings['bgpConfigMap'],
): boolean {
  if (bgp === undefined) return false;
  if (bgpConfigMap === undefined) return name === bgpConfigName;
  return name === bgpConfigMap.name && namespace === bgpConfigMap.namespace;
}

/**
 * Who may not list a kind is refused even where it does not exist: CiliumBGPPeeringPolicy
 * ended with 1.18, and is not missed from then on.
 */
function unreadBgpKinds(
  unread: ReadonlyMap<ClusterKind, string>,
  cilium: CiliumSettings | undefined,
): string[] | undefined {
  const isOver = cilium?.version !== undefined && isAtLeast(cilium.version, firstWithoutPolicies);
  const kinds = ciliumBgpKinds
    .filter((kind) => unread.has(kind) && !(isOver && kind === 'ciliumBgpPeeringPolicies'))
    .map((kind) => clusterKinds[kind].resource.kind);
  return kinds.length > 0 ? kinds : undefined;
}

const firstWithoutPolicies = { major: 1, minor: 19 };

function ciliumOf(
  configMaps: readonly KeptConfigMap[],
  daemonSets: ReadonlyArray<ClusterItems['daemonSets']>,
  stated: CiliumVersion | undefined,
): CiliumSettings | undefined {
  const settings = configMaps.find(({ cilium }) => cilium !== undefined)?.cilium;
  if (settings === undefined) return undefined;
  const running = daemonSets.find(({ ciliumVersion }) => ciliumVersion !== undefined);
  return { ...settings, version: stated ?? running?.ciliumVersion };
}
