import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { familyBits } from '../net/family.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { type Evidence, modes } from '../plan/doctor/evidence.ts';
import { isNodeNews, isReportNews } from '../plan/doctor/news.ts';
import type { NamedNetwork } from '../plan/pools/pool-set.ts';
import type { Copies, CopyHandlers } from './copies.ts';
import type { OperatorSettings } from './operator.ts';

/** What the operator has in memory, as the doctor wants it. Nothing is copied but lists. */
export function driftEvidence(
  settings: OperatorSettings,
  copies: Copies,
  serviceNetworks: readonly NamedNetwork[],
  nowMs: number,
): Evidence {
  const reports = [...copies.reports.values()];
  return {
    nowMs,
    mode: modes.find((mode) => mode === settings.provider.name),
    sources: [],
    nodes: [...copies.nodes.values()],
    ciliumNodes: [...copies.ciliumNodes.values()],
    pools: [...copies.pools.values()].flatMap(({ read }) =>
      read.kind === 'pool' ? [read.pool] : [],
    ),
    blocks: [...copies.blocks.values()],
    reports,
    serviceNetworks,
    loadBalancerRanges: hostRoutes(reports),
    clusterPool: settings.clusterPool,
    routers: [],
  };
}

/** Addresses of Services are told as host routes; whose they are is not the question here. */
function hostRoutes(reports: Evidence['reports']): Prefix[] {
  const found = new Map<string, Prefix>();
  for (const { announced } of reports) {
    for (const text of announced?.keys() ?? []) {
      if (!text.endsWith('/32') && !text.endsWith('/128')) continue;
      const prefix = parsePrefix(text);
      if (prefix?.length === (prefix && familyBits(prefix.family))) found.set(text, prefix!);
    }
  }
  return [...found.values()];
}

/** The same handlers, with a word after every change that the comparison would see. */
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
