/**
 * The kinds of objects that say what a cluster is, each with where it lives in
 * the API and its one reader. Files, lists and caches all read by this table, so
 * that an object means the same whichever way it came.
 */
import type { Prefix } from '../net/prefix.ts';
import { parsePrefix } from '../net/prefix.ts';
import { type BgpConfig, loadConfigMapObject } from './bgp-config-map.ts';
import { type ReadBgpPeer, readBgpPeer } from './bgp-peer.ts';
import { type BlockLog, readHistory } from './block-history.ts';
import {
  type CiliumBgpAdvertisement,
  type CiliumBgpClusterConfig,
  type CiliumBgpNodeConfig,
  type CiliumBgpPeerConfig,
  type CiliumBgpPeeringPolicy,
  readCiliumBgpAdvertisement,
  readCiliumBgpClusterConfig,
  readCiliumBgpNodeConfig,
  readCiliumBgpPeerConfig,
  readCiliumBgpPeeringPolicy,
} from './cilium-bgp.ts';
import {
  type CiliumSettings,
  type CiliumVersion,
  ciliumConfigName,
  readCiliumConfig,
  readCiliumVersion,
} from './cilium-config.ts';
import { type CiliumEndpoint, readCiliumEndpoint } from './cilium-endpoint.ts';
import { type CiliumNode, readCiliumNode } from './cilium-node.ts';
import { type CiliumOperator, ciliumOperatorName, readCiliumOperator } from './cilium-operator.ts';
import { type CiliumPodPool, readCiliumPodPool } from './cilium-pod-pool.ts';
import { type ReadPool, readPool } from './ip-pool.ts';
import { ciliumPoolNetworks, metallbPoolNetworks } from './load-balancer-networks.ts';
import { type ReadLoadBalancerPool, readLoadBalancerPool } from './load-balancer-pool.ts';
import type { NamedNetwork } from './network.ts';
import { type ClusterNode, readNode } from './node.ts';
import { type Block, readBlock } from './node-block.ts';
import { type NodeMigration, readMigration } from './node-migration.ts';
import { type NodeReport, readNodeReport } from './node-report.ts';
import type { NodeReportStatus } from './node-report-status.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';
import { type OperatorReport, readOperatorReport } from './operator-report.ts';
import { type ClusterPod, readPod } from './pod.ts';
import * as resources from './resources.ts';
import { type ClusterService, readService } from './service.ts';
import { readServiceAddress, type ServiceAddress } from './service-address.ts';

/** What is kept of one object of each kind. */
export interface ClusterItems {
  nodes: ClusterNode;
  pools: KeptPool;
  blocks: Block;
  reports: WitnessReport;
  ciliumNodes: CiliumNode;
  ciliumEndpoints: CiliumEndpoint;
  serviceCidrs: KeptServiceCidr;
  servicePools: ReadLoadBalancerPool;
  serviceAddresses: ServiceAddress;
  services: ClusterService;
  peers: ReadBgpPeer;
  histories: KeptHistory;
  migrations: NodeMigration;
  operatorReports: OperatorReport;
  configMaps: KeptConfigMap;
  daemonSets: KeptDaemonSet;
  deployments: KeptDeployment;
  pods: ClusterPod;
  ciliumPodPools: CiliumPodPool;
  ciliumServicePools: KeptNetworks;
  ciliumBgpClusterConfigs: CiliumBgpClusterConfig;
  ciliumBgpPeerConfigs: CiliumBgpPeerConfig;
  ciliumBgpAdvertisements: CiliumBgpAdvertisement;
  ciliumBgpNodeConfigs: CiliumBgpNodeConfig;
  ciliumBgpPeeringPolicies: CiliumBgpPeeringPolicy;
  metallbPools: KeptNetworks;
  metallbOldPools: KeptNetworks;
}

export type ClusterKind = keyof ClusterItems;

/** An IPPool as it was read, good or not, under its identity. */
export interface KeptPool extends Identity {
  read: ReadPool;
}

/** A NodeReport with what its agent saw. */
export type WitnessReport = NodeReport & { status?: Partial<NodeReportStatus> | undefined };

export interface KeptServiceCidr extends Identity {
  networks: NamedNetwork[];
}

export interface KeptHistory extends Identity {
  logs: BlockLog[];
}

/** Of ConfigMaps two matter: Cilium's settings, and BGP peers and pools in MetalLB's form. */
export interface KeptConfigMap extends Identity {
  namespace: string;
  cilium?: CiliumSettings;
  bgp?: BgpConfig;
  /** Why it is no configuration of BGP: `line: key: what is wrong`. */
  bgpProblems?: readonly string[];
}

export interface KeptDaemonSet extends Identity {
  namespace: string;
  ciliumVersion?: CiliumVersion;
}

export interface KeptDeployment extends Identity {
  namespace: string;
  ciliumOperator?: CiliumOperator;
}

export interface KeptNetworks extends Identity {
  namespace?: string;
  networks: Prefix[];
}

/** With problems an item may still be there: a malformed pool has a status to be written. */
export interface Read<T> {
  item?: T;
  /** Clauses that begin with the field's path; empty when all is well. */
  problems: readonly string[];
}

export interface KindRow<T> {
  resource: {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    readonly kind: string;
    readonly namespaced: boolean;
    /** Versions with the same fields, for clusters that do not serve `version`; best first. */
    readonly olderVersions?: readonly string[];
  };
  read(object: KubeObject): Read<T>;
}

/** An API server keeps no null where a list belongs; a file may have one. */
function statusOf({ status }: KubeObject): Partial<NodeReportStatus> | undefined {
  if (typeof status !== 'object' || status === null) return undefined;
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== null));
}

const fine = <T>(item: T): Read<T> => ({ item, problems: [] });
export function row<T>(
  resource: KindRow<T>['resource'],
  read: (object: KubeObject) => T,
): KindRow<T> {
  return { resource, read: (object) => fine(read(object)) };
}

export const clusterKinds: { readonly [K in ClusterKind]: KindRow<ClusterItems[K]> } = {
  nodes: row(resources.nodes, readNode),
  pools: {
    resource: resources.ipPools,
    read(object) {
      const read = readPool(object);
      return {
        item: { ...identityOf(object), read },
        problems: read.kind === 'malformed' ? read.problems : [],
      };
    },
  },
  blocks: {
    resource: resources.nodeBlocks,
    read(object) {
      const read = readBlock(object);
      return read.kind === 'malformed' ? { problems: [read.problem] } : fine(read.block);
    },
  },
  reports: row(resources.nodeReports, (object) => ({
    ...readNodeReport(object),
    status: statusOf(object),
  })),
  ciliumNodes: row(resources.ciliumNodes, readCiliumNode),
  ciliumEndpoints: row(resources.ciliumEndpoints, readCiliumEndpoint),
  serviceCidrs: row(resources.serviceCidrs, (object) => ({
    ...identityOf(object),
    networks: serviceNetworks(object),
  })),
  servicePools: {
    resource: resources.loadBalancerPools,
    read(object) {
      const item = readLoadBalancerPool(object);
      return { item, problems: item.kind === 'malformed' ? item.problems : [] };
    },
  },
  serviceAddresses: {
    resource: resources.serviceAddresses,
    read(object) {
      const item = readServiceAddress(object);
      return item === undefined ? { problems: ['spec.address is no IP address'] } : fine(item);
    },
  },
  services: row(resources.services, readService),
  peers: {
    resource: resources.bgpPeers,
    read(object) {
      const item = readBgpPeer(object);
      return { item, problems: item.kind === 'malformed' ? [item.problem] : [] };
    },
  },
  histories: row(resources.blockHistories, (object) => ({
    ...identityOf(object),
    logs: readHistory(object),
  })),
  migrations: row(resources.nodeMigrations, readMigration),
  operatorReports: {
    resource: resources.operatorReports,
    read(object) {
      const item = readOperatorReport(object);
      if (item !== undefined) return fine(item);
      return { problems: ['spec.mode is no mode that this version knows'] };
    },
  },
  configMaps: row(resources.configMaps, readConfigMap),
  daemonSets: row(resources.daemonSets, (object) => {
    const version = object.metadata?.name === 'cilium' ? readCiliumVersion(object) : undefined;
    return {
      ...namespacedOf(object),
      ...(version === undefined ? {} : { ciliumVersion: version }),
    };
  }),
  deployments: row(resources.deployments, (object) => ({
    ...namespacedOf(object),
    ...(object.metadata?.name === ciliumOperatorName
      ? { ciliumOperator: readCiliumOperator(object) }
      : {}),
  })),
  pods: row(resources.pods, readPod),
  ciliumPodPools: row(resources.ciliumPodPools, readCiliumPodPool),
  ciliumServicePools: row(resources.ciliumLoadBalancerPools, (object) => ({
    ...identityOf(object),
    networks: ciliumPoolNetworks(object),
  })),
  ciliumBgpClusterConfigs: row(resources.ciliumBgpClusterConfigs, readCiliumBgpClusterConfig),
  ciliumBgpPeerConfigs: row(resources.ciliumBgpPeerConfigs, readCiliumBgpPeerConfig),
  ciliumBgpAdvertisements: row(resources.ciliumBgpAdvertisements, readCiliumBgpAdvertisement),
  ciliumBgpNodeConfigs: row(resources.ciliumBgpNodeConfigs, readCiliumBgpNodeConfig),
  ciliumBgpPeeringPolicies: row(resources.ciliumBgpPeeringPolicies, readCiliumBgpPeeringPolicy),
  metallbPools: row(resources.metallbAddressPools, readMetallbPool),
  metallbOldPools: row(resources.metallbOldPools, readMetallbPool),
};

/** Objects that say what Cilium announces. */
export const ciliumBgpKinds = [
  'ciliumBgpClusterConfigs',
  'ciliumBgpPeerConfigs',
  'ciliumBgpAdvertisements',
  'ciliumBgpNodeConfigs',
  'ciliumBgpPeeringPolicies',
] as const satisfies readonly ClusterKind[];

/** Pools of Service addresses that are not ours. */
export const foreignServicePoolKinds = [
  'ciliumServicePools',
  'metallbPools',
  'metallbOldPools',
] as const satisfies readonly ClusterKind[];

export const clusterKindNames = Object.keys(clusterKinds) as ClusterKind[];

/** The ConfigMap of Cilium's BGP up to 1.13, where nobody names another. */
export const bgpConfigName = 'bgp-config';

/** The item, or an error that names what is wrong: for caches, which log it and go on. */
export function keepItem<T>({ resource, read }: KindRow<T>, object: KubeObject): T {
  const { item, problems } = read(object);
  if (item !== undefined) return item;
  throw new Error(`${resource.kind}: ${problems.join('; ')}`);
}

/** Which of the kinds an object is; Calico has an IPPool too, in another group. */
export function clusterKindOf(object: KubeObject): ClusterKind | undefined {
  const { apiVersion = '', kind = '' } = object;
  const slash = apiVersion.indexOf('/');
  return byName.get(`${kind} ${slash < 0 ? '' : apiVersion.slice(0, slash)}`);
}

const byName = new Map<string, ClusterKind>(
  clusterKindNames.map((name) => {
    const { kind, group } = clusterKinds[name].resource;
    return [`${kind} ${group}`, name];
  }),
);

function namespacedOf(object: KubeObject): Identity & { namespace: string } {
  return { ...identityOf(object), namespace: object.metadata?.namespace ?? 'default' };
}

function readMetallbPool(object: KubeObject): KeptNetworks {
  return { ...namespacedOf(object), networks: metallbPoolNetworks(object) };
}

function readConfigMap(object: KubeObject): KeptConfigMap {
  const kept = namespacedOf(object);
  if (kept.name === ciliumConfigName) return { ...kept, cilium: readCiliumConfig(object) };
  const read = loadConfigMapObject(object as { data?: Record<string, string> });
  if (read.kind === 'config') return { ...kept, bgp: read.config };
  const bgpProblems = read.problems.map(({ line, key, sentence }) =>
    [`${line}`, key, sentence].filter((part) => part !== '').join(': '),
  );
  return { ...kept, bgpProblems };
}

function serviceNetworks(object: KubeObject): NamedNetwork[] {
  const { cidrs = [] } = (object.spec ?? {}) as { cidrs?: string[] };
  const name = `the Service network ${object.metadata?.name ?? ''}`.trim();
  return cidrs.flatMap((text) => {
    const prefix = parsePrefix(text);
    return prefix === undefined ? [] : [{ name, prefix }];
  });
}
