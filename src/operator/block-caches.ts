import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import type { CacheHandler } from '../kube/object-cache.ts';
import type { ClusterItems, WitnessReport } from '../model/cluster-kinds.ts';

type CachedKind = 'pools' | 'nodes' | 'blocks' | 'reports' | 'ciliumNodes';

/** Caches of the objects that blocks are decided by. */
export type BlockCaches = ClusterCaches<CachedKind>;

export type BlockCacheHandlers = { readonly [K in CachedKind]: CacheHandler<ClusterItems[K]> };

export function makeBlockCaches(base: CacheBase, handlers: BlockCacheHandlers): BlockCaches {
  const { pools, nodes, blocks, reports, ciliumNodes } = handlers;
  return {
    pools: clusterCache('pools', base, { handler: pools }),
    nodes: clusterCache('nodes', base, { handler: nodes }),
    blocks: clusterCache('blocks', base, { handler: blocks }),
    reports: clusterCache('reports', base, { handler: reports, trim: whatIsCompared }),
    ciliumNodes: clusterCache('ciliumNodes', base, { handler: ciliumNodes }),
  };
}

/** Of what the agent saw only what is compared; the rest is for people. */
function whatIsCompared(report: WitnessReport): WitnessReport {
  const { blocks, kernel, sessions, unannounced, findings } = report.status ?? {};
  return {
    ...report,
    status: {
      ...(blocks === undefined ? {} : { blocks }),
      ...(kernel === undefined ? {} : { kernel: { ...kernel, refused: [] } }),
      ...(sessions === undefined ? {} : { sessions }),
      ...(unannounced === undefined ? {} : { unannounced }),
      ...(findings === undefined ? {} : { findings }),
    },
  };
}
