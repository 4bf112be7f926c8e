/**
 * One list and watch for all agents of the process. Five hundred agents that
 * each followed every Node would hear of each change a quarter of a million
 * times in all, and keep every object five hundred times.
 */
import {
  type CacheBase,
  type CacheScope,
  onlyChanges,
  rowCache,
} from '../cluster/cluster-caches.ts';
import type { FollowCache, FollowedCache } from '../cluster/followed-cache.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { onAbort } from '../kube/on-abort.ts';
import { resourceName } from '../kube/resource.ts';
import type { KindRow } from '../model/cluster-kinds.ts';

interface Shared<T extends Kept> {
  cache: ListWatch<T>;
  handlers: Set<CacheHandler<T>>;
}

export class SharedCaches {
  readonly #shared = new Map<string, unknown>();
  readonly #o: CacheBase & { signal: AbortSignal };

  constructor(options: CacheBase & { signal: AbortSignal }) {
    this.#o = options;
  }

  /** What one agent would trim away another needs: here everything is kept. */
  readonly follow: FollowCache = <T extends Kept>(
    row: KindRow<T>,
    { handler, trim: _, ...where }: CacheScope<T>,
  ): FollowedCache<T> => {
    const { namespace = '', fieldSelector = '' } = where;
    const key = `${resourceName(row.resource)} ${namespace} ${fieldSelector}`;
    const shared = (this.#shared.get(key) as Shared<T> | undefined) ?? this.#begin(row, where);
    this.#shared.set(key, shared);
    return attach(shared, handler);
  };

  #begin<T extends Kept>(row: KindRow<T>, where: CacheScope<T>): Shared<T> {
    const handlers = new Set<CacheHandler<T>>();
    const handler = onlyChanges<T>({
      onPut(next, prev) {
        for (const each of handlers) each.onPut(next, prev);
      },
      onDelete(last, how) {
        for (const each of handlers) each.onDelete(last, how);
      },
    });
    const cache = rowCache(row, this.#o, { ...where, handler });
    cache.start(this.#o.signal);
    return { cache, handlers };
  }
}

/** One agent's end of it: from its start until it stops it hears of what is there and of changes. */
function attach<T extends Kept>(
  { cache, handlers }: Shared<T>,
  handler: CacheHandler<T> | undefined,
): FollowedCache<T> {
  return {
    start(signal) {
      if (signal.aborted || handler === undefined) return;
      for (const one of cache.values()) handler.onPut(one, undefined);
      handlers.add(handler);
      onAbort(signal, () => handlers.delete(handler));
    },
    synced: cache.synced,
    get hasSynced() {
      return cache.hasSynced;
    },
    get: (key) => cache.get(key),
    values: () => cache.values(),
    silentMs: () => cache.silentMs(),
    get refusal() {
      return cache.refusal;
    },
  };
}
