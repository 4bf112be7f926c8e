import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import type { CacheHandler } from '../kube/object-cache.ts';
import type { ClusterItems, WitnessReport } from '../model/cluster-kinds.ts';

type CachedKind = 'pools' | 'nodes' | 'blocks' | 'reports' | 'ciliumNodes';

/** Caches of the objects that blocks are decided by. */
export type BlockCaches = ClusterCaches<CachedKind>;

export type BlockCacheHandlers = { readonly [K in CachedKind]: CacheHandler<ClusterItems[K]> };

/** `startedOver`: a cache found that the store went back in time. */
export function makeBlockCaches(
  base: CacheBase,
  { pools, nodes, blocks, reports, ciliumNodes }: BlockCacheHandlers,
  startedOver: (kind: string) => void = () => {},
): BlockCaches {
  const over = (kind: CachedKind) => ({ onStartedOver: () => startedOver(kind) });
  const trim = whatIsCompared;
  return {
    pools: clusterCache('pools', base, { handler: pools, ...over('pools') }),
    nodes: clusterCache('nodes', base, { handler: nodes, ...over('nodes') }),
    blocks: clusterCache('blocks', base, { handler: blocks, ...over('blocks') }),
    reports: clusterCache('reports', base, { handler: reports, trim, ...over('reports') }),
    ciliumNodes: clusterCache('ciliumNodes', base, {
      handler: ciliumNodes,
      ...over('ciliumNodes'),
    }),
  };
}

/** Resolves when everything that this process follows has been listed afresh. */
export async function relistAll(caches: BlockCaches): Promise<void> {
  const followed = Object.values(caches).filter(({ hasSynced }) => hasSynced);
  await Promise.all(followed.map((cache) => cache.relist()));
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
