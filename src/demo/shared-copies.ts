/**
 * One list and watch for all agents of the process. Five hundred agents that
 * each followed every Node would tell each other the same news a quarter of a
 * million times, and keep as many copies of it.
 */
import type { Copy, CopySpec, Follow } from '../agent/copy.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { onAbort } from '../kube/on-abort.ts';
import { resourceName } from '../kube/resource.ts';
import { identityOf, type KubeObject } from '../model/object.ts';

interface Shared {
  copy: ListWatch<Kept>;
  handlers: Set<CacheHandler<Kept>>;
}

export class SharedCopies {
  readonly #shared = new Map<string, Shared>();
  readonly #o: { client: KubeClient; clock: Clock; log: Log; signal: AbortSignal };

  constructor(options: { client: KubeClient; clock: Clock; log: Log; signal: AbortSignal }) {
    this.#o = options;
  }

  readonly follow: Follow = <T extends Kept>(spec: CopySpec<T>): Copy<T> => {
    const { resource, namespace = '', fieldSelector = '' } = spec;
    const key = `${resourceName(resource)} ${namespace} ${fieldSelector}`;
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const keep = spec.isPerNode ? keepRaw : spec.keep;
      shared = this.#begin({ ...(spec as unknown as CopySpec<Kept>), keep });
      this.#shared.set(key, shared);
    }
    const attached = attach(shared, spec.handler as unknown as CacheHandler<Kept>);
    return (spec.isPerNode ? readBy(attached, spec.keep) : attached) as unknown as Copy<T>;
  };

  #begin(spec: CopySpec<Kept>): Shared {
    const { client, clock, log, signal } = this.#o;
    const handlers = new Set<CacheHandler<Kept>>();
    const copy = new ListWatch<Kept>({
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
    copy.start(signal);
    return { copy, handlers };
  }
}

function isSame(a: Kept, b: Kept): boolean {
  const text = (kept: Kept) => JSON.stringify({ ...kept, resourceVersion: '' });
  return text(a) === text(b);
}

/** One agent's end of it: it hears news from its start until it stops. */
function attach({ copy, handlers }: Shared, handler: CacheHandler<Kept>): Copy<Kept> {
  return {
    start(signal) {
      if (signal.aborted) return;
      handlers.add(handler);
      onAbort(signal, () => handlers.delete(handler));
    },
    synced: copy.synced,
    get hasSynced() {
      return copy.hasSynced;
    },
    get size() {
      return copy.size;
    },
    get: (key) => copy.get(key),
    values: () => copy.values(),
    silentMs: () => copy.silentMs(),
  };
}

interface Raw extends Kept {
  raw: unknown;
}

function keepRaw(raw: unknown): Raw {
  return { ...identityOf(raw as KubeObject), raw };
}

/** Each agent reads these in its own way; there are few, and reading again is cheap. */
function readBy(copy: Copy<Kept>, keep: (raw: unknown) => Kept): Copy<Kept> {
  const read = (kept: Kept) => keep((kept as Raw).raw);
  return {
    start: (signal) => copy.start(signal),
    synced: copy.synced,
    get hasSynced() {
      return copy.hasSynced;
    },
    get size() {
      return copy.size;
    },
    get(key) {
      const kept = copy.get(key);
      return kept && read(kept);
    },
    values: () => [...copy.values()].map(read).values(),
    silentMs: () => copy.silentMs(),
  };
}
