import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { clusterState, type ItemLists } from '../model/cluster-state.ts';
import { type Evidence, evidenceOf } from '../plan/doctor/evidence.ts';
import { isNodeNews, isReportNews } from '../plan/doctor/news.ts';
import type { CopyHandlers } from './copies.ts';
import { type OperatorSettings, statedByOperator } from './operator-settings.ts';

/** What the operator has in memory, as the comparison takes it. Nothing is copied but lists. */
export function driftEvidence(
  settings: OperatorSettings,
  items: ItemLists,
  nowMs: number,
): Evidence {
  return evidenceOf(clusterState(items, statedByOperator(settings)), { nowMs });
}

/** The same handlers, with a call after every change that the comparison would see. */
export function onEveryChange(handlers: CopyHandlers, changed: () => void): CopyHandlers {
  const listen = <T extends Kept>(
    handler: CacheHandler<T>,
    isNews: (next: T, prev: T | undefined) => boolean = () => true,
  ): CacheHandler<T> => ({
    onPut: (next, prev) => {
      handler.onPut(next, prev);
      if (isNews(next, prev)) changed();
    },
    onDelete: (last, how) => {
      handler.onDelete(last, how);
      changed();
    },
  });
  return {
    pools: listen(handlers.pools),
    nodes: listen(handlers.nodes, isNodeNews),
    blocks: listen(handlers.blocks),
    reports: listen(handlers.reports, isReportNews),
    ciliumNodes: listen(handlers.ciliumNodes),
  };
}
