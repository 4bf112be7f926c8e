/**
 * One list and watch for all agents of the process. Five hundred agents that
 * each followed every Node would tell each other the same news a quarter of a
 * million times, and keep it as many times.
 */
import type { CacheSpec, FollowCache, FollowedCache } from '../agent/followed-cache.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { onAbort } from '../kube/on-abort.ts';
import { resourceName } from '../kube/resource.ts';
import { identityOf, type KubeObject } from '../model/object.ts';

interface Shared {
  cache: ListWatch<Kept>;
  handlers: Set<CacheHandler<Kept>>;
}

export class SharedCaches {
  readonly #shared = new Map<string, Shared>();
  readonly #o: { client: KubeClient; clock: Clock; log: Log; signal: AbortSignal };

  constructor(options: { client: KubeClient; clock: Clock; log: Log; signal: AbortSignal }) {
    this.#o = options;
  }

  readonly follow: FollowCache = <T extends Kept>(spec: CacheSpec<T>): FollowedCache<T> => {
    const { resource, namespace = '', fieldSelector = '' } = spec;
    const key = `${resourceName(resource)} ${namespace} ${fieldSelector}`;
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const keep = spec.isPerNode ? keepRaw : spec.keep;
      shared = this.#begin({ ...(spec as unknown as CacheSpec<Kept>), keep });
      this.#shared.set(key, shared);
    }
    const attached = attach(shared, spec.handler as unknown as CacheHandler<Kept>);
    return (spec.isPerNode ? readBy(attached, spec.keep) : attached) as unknown as FollowedCache<T>;
  };

  #begin(spec: CacheSpec<Kept>): Shared {
    const { client, clock, log, signal } = this.#o;
    const handlers = new Set<CacheHandler<Kept>>();
    const cache = new ListWatch<Kept>({
      client,
      clock,
      log,
      ...spec,
      handler: {
        onPut: (next, prev) => {
          // Asked once here rather than by each of them: most news of a Node is that it is alive.
          if (prev !== undefined && isSame(next, prev)) return;
          for (const handler of handlers) handler.onPut(next, prev);
        },
        onDelete: (last, how) => {
          for (const handler of handlers) handler.onDelete(last, how);
        },
      },
    });
    cache.start(signal);
    return { cache, handlers };
  }
}

function isSame(a: Kept, b: Kept): boolean {
  const text = (kept: Kept) => JSON.stringify({ ...kept, resourceVersion: '' });
  return text(a) === text(b);
}

/** One agent's end of it: it hears news from its start until it stops. */
function attach({ cache, handlers }: Shared, handler: CacheHandler<Kept>): FollowedCache<Kept> {
  return {
    start(signal) {
      if (signal.aborted) return;
      handlers.add(handler);
      onAbort(signal, () => handlers.delete(handler));
    },
    synced: cache.synced,
    get hasSynced() {
      return cache.hasSynced;
    },
    get size() {
      return cache.size;
    },
    get: (key) => cache.get(key),
    values: () => cache.values(),
    silentMs: () => cache.silentMs(),
  };
}

interface Raw extends Kept {
  raw: unknown;
}

function keepRaw(raw: unknown): Raw {
  return { ...identityOf(raw as KubeObject), raw };
}

/** Each agent reads these in its own way; there are few, and reading again is cheap. */
function readBy(cache: FollowedCache<Kept>, keep: (raw: unknown) => Kept): FollowedCache<Kept> {
  const read = (kept: Kept) => keep((kept as Raw).raw);
  return {
    start: (signal) => cache.start(signal),
    synced: cache.synced,
    get hasSynced() {
      return cache.hasSynced;
    },
    get size() {
      return cache.size;
    },
    get(key) {
      const kept = cache.get(key);
      return kept && read(kept);
    },
    values: () => [...cache.values()].map(read).values(),
    silentMs: () => cache.silentMs(),
  };
}
