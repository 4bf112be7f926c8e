/** The console's copies of cluster state: enough for every view, and only read. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { KubeClient } from '../kube/client.ts';
import { eventResource } from '../kube/events.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';
import { type ReadBgpPeer, readBgpPeer } from '../model/bgp-peer.ts';
import { type BlockLog, readHistory } from '../model/block-history.ts';
import { type CiliumNode, readCiliumNode } from '../model/cilium-node.ts';
import { type ReadPool, readPool } from '../model/ip-pool.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import { type Block, readBlock } from '../model/node-block.ts';
import { type NodeReport, readNodeReport } from '../model/node-report.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { identityOf, type KubeObject, timestampMs } from '../model/object.ts';
import {
  bgpPeers,
  blockHistories,
  ciliumNodes,
  ipPools,
  nodeBlocks,
  nodeReports,
  nodes,
} from '../model/resources.ts';

export interface KeptPool extends Kept {
  read: ReadPool;
}

export interface KeptReport extends NodeReport {
  status: NodeReportStatus | undefined;
}

export interface KeptHistory extends Kept {
  logs: BlockLog[];
}

export interface KeptEvent extends Kept {
  atMs: number;
  isWarning: boolean;
  reason: string;
  message: string;
  about: { kind: string; name: string };
}

export interface Copies {
  nodes: ListWatch<ClusterNode>;
  pools: ListWatch<KeptPool>;
  blocks: ListWatch<Block>;
  reports: ListWatch<KeptReport>;
  peers: ListWatch<ReadBgpPeer>;
  events: ListWatch<KeptEvent>;
  ciliumNodes: ListWatch<CiliumNode>;
  histories: ListWatch<KeptHistory>;
}

export type CopyKind = keyof Copies;
type KeptOf<K extends CopyKind> = Copies[K] extends ListWatch<infer T> ? T : never;

export interface CopyListener {
  put<K extends CopyKind>(kind: K, next: KeptOf<K>, prev: KeptOf<K> | undefined): void;
  gone<K extends CopyKind>(kind: K, last: KeptOf<K>): void;
}

export function makeCopies(
  base: { client: KubeClient; clock: Clock; log: Log },
  listener: CopyListener,
): Copies {
  const copy = <K extends CopyKind>(
    kind: K,
    resource: Resource,
    read: (object: KubeObject) => KeptOf<K>,
  ) =>
    new ListWatch<KeptOf<K> & Kept>({
      ...base,
      resource,
      keep: (raw) => read(raw as KubeObject),
      handler: {
        onPut: (next, prev) => listener.put(kind, next, prev),
        onDelete: (last) => listener.gone(kind, last),
      },
    }) as unknown as Copies[K];
  return {
    nodes: copy('nodes', nodes, readNode),
    pools: copy('pools', ipPools, keepPool),
    blocks: copy('blocks', nodeBlocks, keepBlock),
    reports: copy('reports', nodeReports, keepReport),
    peers: copy('peers', bgpPeers, readBgpPeer),
    events: copy('events', eventResource, keepEvent),
    ciliumNodes: copy('ciliumNodes', ciliumNodes, readCiliumNode),
    histories: copy('histories', blockHistories, keepHistory),
  };
}

function keepPool(object: KubeObject): KeptPool {
  return { ...identityOf(object), read: readPool(object) };
}

function keepBlock(object: KubeObject): Block {
  const read = readBlock(object);
  if (read.kind === 'malformed') throw new Error(`MalformedBlock: ${read.problem}`);
  return read.block;
}

function keepReport(object: KubeObject): KeptReport {
  return { ...readNodeReport(object), status: object.status as NodeReportStatus | undefined };
}

function keepHistory(object: KubeObject): KeptHistory {
  return { ...identityOf(object), logs: readHistory(object) };
}

function keepEvent(object: KubeObject): KeptEvent {
  const event = object as {
    type?: string;
    reason?: string;
    message?: string;
    lastTimestamp?: string | null;
    eventTime?: string | null;
    involvedObject?: { kind?: string; name?: string };
  };
  const at = event.lastTimestamp ?? event.eventTime ?? object.metadata?.creationTimestamp;
  return {
    ...identityOf(object),
    namespace: object.metadata?.namespace ?? 'default',
    atMs: timestampMs(at),
    isWarning: event.type === 'Warning',
    reason: event.reason ?? '',
    message: event.message ?? '',
    about: { kind: event.involvedObject?.kind ?? '', name: event.involvedObject?.name ?? '' },
  };
}
