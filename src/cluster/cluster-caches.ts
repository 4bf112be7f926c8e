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
  namespace?: string | undefined;
  fieldSelector?: string | undefined;
  /** Drops what this process does not need of an item: memory, for large clusters. */
  trim?: ((item: T) => T) | undefined;
}

/** A cache of one kind: the API server's objects, read by the kind's own reader. */
export function clusterCache<K extends ClusterKind>(
  kind: K,
  base: CacheBase,
  { handler, trim, ...scope }: CacheScope<ClusterItems[K]> = {},
): ListWatch<ClusterItems[K] & Kept> {
  return new ListWatch<ClusterItems[K] & Kept>({
    ...base,
    ...scope,
    resource: clusterKinds[kind].resource,
    handler,
    // Half the bytes and a third of the time of JSON, for the largest objects of all.
    decode: kind === 'nodes' ? decodeNode : undefined,
    keep: (raw) => {
      const item = keepItem(kind, raw as KubeObject);
      return trim === undefined ? item : trim(item);
    },
  });
}

/** Caches by kind; one of each that this process follows. */
export type ClusterCaches<K extends ClusterKind> = {
  readonly [P in K]: ListWatch<ClusterItems[P] & Kept>;
};

/** What the caches hold now; a kind that has not been listed yet is not looked at. */
export function cachedItems(caches: Partial<ClusterCaches<ClusterKind>>): ItemLists {
  const items: Record<string, Iterable<unknown>> = {};
  for (const [kind, cache] of Object.entries(caches)) {
    if (cache?.hasSynced) items[kind] = cache.values() as Iterable<unknown>;
  }
  return items as ItemLists;
}
