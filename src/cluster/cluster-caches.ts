import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { decodeNode } from '../kube/protobuf/node.ts';
import {
  type ClusterItems,
  type ClusterKind,
  clusterKinds,
  type KindRow,
  keepItem,
} from '../model/cluster-kinds.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import type { KubeObject } from '../model/object.ts';

export interface CacheBase {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics?: Metrics | undefined;
}

export interface CacheScope<T> {
  handler?: CacheHandler<T> | undefined;
  /** The store has gone back in time; see ListWatchOptions. */
  onStartedOver?: ((lost: readonly T[]) => void) | undefined;
  namespace?: string | undefined;
  fieldSelector?: string | undefined;
  /** Drops what this process does not need of an item: memory, for large clusters. */
  trim?: ((item: T) => T) | undefined;
}

/** A cache of one kind: the API server's objects, read by the kind's own reader. */
export function clusterCache<K extends ClusterKind>(
  kind: K,
  base: CacheBase,
  scope: CacheScope<ClusterItems[K]> = {},
): ListWatch<ClusterItems[K] & Kept> {
  return rowCache<ClusterItems[K] & Kept>(
    clusterKinds[kind] as KindRow<ClusterItems[K] & Kept>,
    base,
    scope as CacheScope<ClusterItems[K] & Kept>,
  );
}

/** The same for a kind that only one program knows. */
export function rowCache<T extends Kept>(
  row: KindRow<T>,
  base: CacheBase,
  { handler, trim, ...scope }: CacheScope<T>,
): ListWatch<T> {
  return new ListWatch<T>({
    ...base,
    ...scope,
    resource: row.resource,
    handler,
    // Half the bytes and a third of the time of JSON, for the largest objects of all.
    decode: row.resource === clusterKinds.nodes.resource ? decodeNode : undefined,
    keep: (raw) => {
      const item = keepItem(row, raw as KubeObject);
      return trim === undefined ? item : trim(item);
    },
  });
}

/** Kubelets update every Node every few seconds; what is kept of it is mostly the same. */
export function onlyChanges<T extends Kept>(handler: CacheHandler<T>): CacheHandler<T> {
  const text = (item: T) => JSON.stringify({ ...item, resourceVersion: '' });
  return {
    onPut: (next, prev) => {
      if (prev === undefined || text(next) !== text(prev)) handler.onPut(next, prev);
    },
    onDelete: (last, how) => handler.onDelete(last, how),
  };
}

/** Caches by kind; one of each that this process follows. */
export type ClusterCaches<K extends ClusterKind> = {
  readonly [P in K]: ListWatch<ClusterItems[P] & Kept>;
};

/** What the caches hold now; a kind that has not been listed yet is not looked at. */
export function cachedItems(
  caches: Partial<Record<ClusterKind, { hasSynced: boolean; values(): Iterable<unknown> }>>,
): ItemLists {
  const items: Record<string, Iterable<unknown>> = {};
  for (const [kind, cache] of Object.entries(caches)) {
    if (cache?.hasSynced) items[kind] = cache.values();
  }
  return items as ItemLists;
}
