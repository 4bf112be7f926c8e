import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import type { ClusterKind } from '../model/cluster-kinds.ts';
import { clusterState, type ItemLists } from '../model/cluster-state.ts';
import { type Evidence, evidenceOf } from '../plan/doctor/evidence.ts';
import { isNodeNews, isReportNews } from '../plan/doctor/news.ts';
import type { SeenRouter } from '../witness/connected-router.ts';
import type { BlockCacheHandlers } from './block-caches.ts';
import { type OperatorSettings, statedByOperator } from './operator-settings.ts';

/**
 * What the operator has in memory, and what routers hold that it listens to, as the
 * comparison takes it. Nothing is copied but lists.
 */
export function driftEvidence(
  settings: OperatorSettings,
  seen: { items: ItemLists; unread?: ReadonlyMap<ClusterKind, string> },
  nowMs: number,
  routers: readonly SeenRouter[] = [],
): Evidence {
  const state = clusterState(seen.items, statedByOperator(settings), [], seen.unread);
  return evidenceOf(state, {
    nowMs,
    routers: routers.map(({ table }) => table),
    sources: routers.map(({ source }) => source),
  });
}

/** A call after every change that the comparison would see. */
export function onEveryChange(changed: () => void): BlockCacheHandlers {
  const listen = <T extends Kept>(
    isNews: (next: T, prev: T | undefined) => boolean = () => true,
  ): CacheHandler<T> => ({
    onPut: (next, prev) => {
      if (isNews(next, prev)) changed();
    },
    onDelete: changed,
  });
  return {
    pools: listen(),
    nodes: listen(isNodeNews),
    blocks: listen(),
    reports: listen(isReportNews),
    ciliumNodes: listen(),
  };
}
