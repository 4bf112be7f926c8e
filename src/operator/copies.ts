import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import type { Decode } from '../kube/protobuf/envelope.ts';
import { decodeNode } from '../kube/protobuf/node.ts';
import type { Resource, StoredObject } from '../kube/resource.ts';
import { type CiliumNode, readCiliumNode } from '../model/cilium-node.ts';
import { type ReadPool, readPool } from '../model/ip-pool.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import { type Block, readBlock } from '../model/node-block.ts';
import { readNodeReport } from '../model/node-report.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import type { KubeObject } from '../model/object.ts';
import { ciliumNodes, ipPools, nodeBlocks, nodeReports, nodes } from '../model/resources.ts';
import type { WitnessReport } from '../plan/doctor/evidence.ts';

/** An IPPool as it was read, good or not, under its identity. */
export interface KeptPool extends Kept {
  read: ReadPool;
}

/** The copies of cluster state that the operator lives on. */
export interface Copies {
  pools: ListWatch<KeptPool>;
  nodes: ListWatch<ClusterNode>;
  blocks: ListWatch<Block>;
  reports: ListWatch<WitnessReport>;
  ciliumNodes: ListWatch<CiliumNode>;
}

export interface CopyHandlers {
  pools: CacheHandler<KeptPool>;
  nodes: CacheHandler<ClusterNode>;
  blocks: CacheHandler<Block>;
  reports: CacheHandler<WitnessReport>;
  ciliumNodes: CacheHandler<CiliumNode>;
}

export function makeCopies(
  base: { client: KubeClient; clock: Clock; log: Log; metrics: Metrics },
  handlers: CopyHandlers,
): Copies {
  const copy = <T extends Kept>(
    resource: Resource,
    read: (object: KubeObject) => T,
    handler: CacheHandler<T>,
    decode?: Decode<StoredObject>,
  ) =>
    new ListWatch<T>({
      ...base,
      resource,
      handler,
      decode,
      keep: (raw) => read(raw as KubeObject),
    });
  return {
    pools: copy(ipPools, keepPool, handlers.pools),
    nodes: copy(nodes, readNode, handlers.nodes, decodeNode),
    blocks: copy(nodeBlocks, keepBlock, handlers.blocks),
    reports: copy(nodeReports, keepReport, handlers.reports),
    ciliumNodes: copy(ciliumNodes, readCiliumNode, handlers.ciliumNodes),
  };
}

function keepPool(object: KubeObject): KeptPool {
  const read = readPool(object);
  const { name, uid, resourceVersion } = read.kind === 'pool' ? read.pool : read.identity;
  return { name, uid, resourceVersion, read };
}

/** Of what the agent saw only what is compared; the rest is for people. */
function keepReport(object: KubeObject): WitnessReport {
  const { blocks, kernel, sessions } = (object.status ?? {}) as Partial<NodeReportStatus>;
  return {
    ...readNodeReport(object),
    status: {
      ...(blocks === undefined ? {} : { blocks }),
      ...(kernel === undefined ? {} : { kernel: { ...kernel, refused: [] } }),
      ...(sessions === undefined ? {} : { sessions }),
    },
  };
}

function keepBlock(object: KubeObject): Block {
  const read = readBlock(object);
  if (read.kind === 'malformed') throw new Error(`MalformedBlock: ${read.problem}`);
  return read.block;
}
