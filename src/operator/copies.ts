import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import type { CacheHandler } from '../kube/object-cache.ts';
import type { ClusterItems, KeptPool, WitnessReport } from '../model/cluster-kinds.ts';

export type { KeptPool };

type CachedKind = 'pools' | 'nodes' | 'blocks' | 'reports' | 'ciliumNodes';

/** The caches that the operator lives on. */
export type Copies = ClusterCaches<CachedKind>;

export type CopyHandlers = { readonly [K in CachedKind]: CacheHandler<ClusterItems[K]> };

export function makeCopies(base: CacheBase, handlers: CopyHandlers): Copies {
  return {
    pools: clusterCache('pools', base, { handler: handlers.pools }),
    nodes: clusterCache('nodes', base, { handler: handlers.nodes }),
    blocks: clusterCache('blocks', base, { handler: handlers.blocks }),
    reports: clusterCache('reports', base, { handler: handlers.reports, trim: whatIsCompared }),
    ciliumNodes: clusterCache('ciliumNodes', base, { handler: handlers.ciliumNodes }),
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
