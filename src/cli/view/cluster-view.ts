import { type BlockLog, readHistory } from '../../model/block-history.ts';
import { type CiliumNode, readCiliumNode } from '../../model/cilium-node.ts';
import { type Pool, readPool } from '../../model/ip-pool.ts';
import { apiVersion, group as cadastreGroup } from '../../model/keys.ts';
import { type LoadBalancerPool, readLoadBalancerPool } from '../../model/load-balancer-pool.ts';
import { type ClusterNode, readNode } from '../../model/node.ts';
import { type Block, readBlock } from '../../model/node-block.ts';
import { type NodeMigration, readMigration } from '../../model/node-migration.ts';
import { type NodeReport, readNodeReport } from '../../model/node-report.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import type { KubeObject } from '../../model/object.ts';
import { shapeProblems } from '../../model/schema/shape-problems.ts';
import { readServiceAddress, type ServiceAddress } from '../../model/service-address.ts';
import { networksOf } from '../../operator/service-networks.ts';
import type { NamedNetwork } from '../../plan/pools/pool-set.ts';

/**
 * A cluster as every looking command sees it, wherever it came from: an API
 * server, or files that somebody saved or sent. Everything in it is understood;
 * what could not be understood is in `malformed`, in words.
 */
export interface ClusterView {
  /** For messages: `context "prod" of …`, or `3 files`. */
  origin: string;
  nodes: ClusterNode[];
  pools: Pool[];
  blocks: Block[];
  reports: NodeReport[];
  /** What the agents saw, as far as it is there. */
  reportStatuses: Array<{ node: string; status: Partial<NodeReportStatus> }>;
  servicePools: LoadBalancerPool[];
  serviceAddresses: ServiceAddress[];
  ciliumNodes: CiliumNode[];
  serviceNetworks: NamedNetwork[];
  /** Read from a cluster only by who asks for it. */
  history: BlockLog[];
  migrations: NodeMigration[];
  malformed: MalformedObject[];
}

export interface MalformedObject {
  kind: ViewedKind;
  name: string;
  /** Clauses that begin with the field's path. */
  problems: string[];
}

const groups = {
  Node: '',
  IPPool: cadastreGroup,
  NodeBlock: cadastreGroup,
  NodeReport: cadastreGroup,
  LoadBalancerPool: cadastreGroup,
  ServiceAddress: cadastreGroup,
  BlockHistory: cadastreGroup,
  NodeMigration: cadastreGroup,
  CiliumNode: 'cilium.io',
  ServiceCIDR: 'networking.k8s.io',
} as const;

export type ViewedKind = keyof typeof groups;

/** The group of an apiVersion: `apps` of `apps/v1`, nothing of `v1`. */
export function groupOf(version: string): string {
  const slash = version.indexOf('/');
  return slash < 0 ? '' : version.slice(0, slash);
}

/** Which of the kinds we use an object is; Calico has an IPPool too, in another group. */
export function viewedKind(object: KubeObject): ViewedKind | undefined {
  const kind = object.kind ?? '';
  if (!Object.hasOwn(groups, kind)) return undefined;
  return groups[kind as ViewedKind] === groupOf(object.apiVersion ?? '')
    ? (kind as ViewedKind)
    : undefined;
}

export function emptyView(origin: string): ClusterView {
  return {
    origin,
    nodes: [],
    pools: [],
    blocks: [],
    reports: [],
    reportStatuses: [],
    servicePools: [],
    serviceAddresses: [],
    ciliumNodes: [],
    serviceNetworks: [],
    history: [],
    migrations: [],
    malformed: [],
  };
}

/** Adds everything of another view: one kind of a cluster, one after the other. */
export function addView(view: ClusterView, more: ClusterView): void {
  view.nodes = view.nodes.concat(more.nodes);
  view.pools = view.pools.concat(more.pools);
  view.blocks = view.blocks.concat(more.blocks);
  view.reports = view.reports.concat(more.reports);
  view.reportStatuses = view.reportStatuses.concat(more.reportStatuses);
  view.servicePools = view.servicePools.concat(more.servicePools);
  view.serviceAddresses = view.serviceAddresses.concat(more.serviceAddresses);
  view.ciliumNodes = view.ciliumNodes.concat(more.ciliumNodes);
  view.serviceNetworks = view.serviceNetworks.concat(more.serviceNetworks);
  view.history = view.history.concat(more.history);
  view.migrations = view.migrations.concat(more.migrations);
  view.malformed = view.malformed.concat(more.malformed);
}

/** Reads one object into the view. What cannot be understood goes to `malformed` instead. */
export function putObject(view: ClusterView, kind: ViewedKind, object: KubeObject): void {
  const problems = readInto(view, kind, object);
  if (problems.length === 0) return;
  view.malformed.push({ kind, name: object.metadata?.name ?? '', problems });
}

function readInto(view: ClusterView, kind: ViewedKind, object: KubeObject): string[] {
  if (groups[kind] === cadastreGroup && object.apiVersion !== apiVersion) {
    return [`apiVersion is ${JSON.stringify(object.apiVersion)}, not "${apiVersion}"`];
  }
  const problems = shapeProblems(kind, object);
  if (kind === 'IPPool') {
    const read = readPool(object);
    const all = [...problems, ...(read.kind === 'malformed' ? read.problems : [])];
    if (read.kind === 'pool' && all.length === 0) view.pools.push(read.pool);
    return [...new Set(all)];
  }
  if (problems.length > 0) return problems;
  switch (kind) {
    case 'Node':
      view.nodes.push(readNode(object));
      return [];
    case 'NodeBlock': {
      const read = readBlock(object);
      if (read.kind === 'malformed') return [read.problem];
      view.blocks.push(read.block);
      return [];
    }
    case 'NodeReport':
      view.reports.push(readNodeReport(object));
      view.reportStatuses.push({
        node: object.metadata?.name ?? '',
        status: (object.status ?? {}) as Partial<NodeReportStatus>,
      });
      return [];
    case 'LoadBalancerPool': {
      const read = readLoadBalancerPool(object);
      if (read.kind === 'malformed') return [...read.problems];
      view.servicePools.push(read.pool);
      return [];
    }
    case 'ServiceAddress': {
      const read = readServiceAddress(object);
      if (read === undefined) return ['spec.address is no IP address'];
      view.serviceAddresses.push(read);
      return [];
    }
    case 'BlockHistory':
      view.history.push(...readHistory(object));
      return [];
    case 'NodeMigration':
      view.migrations.push(readMigration(object));
      return [];
    case 'CiliumNode':
      view.ciliumNodes.push(readCiliumNode(object));
      return [];
    case 'ServiceCIDR':
      view.serviceNetworks.push(...networksOf(object));
      return [];
  }
}
