/** The console's caches of cluster state: enough for every view, and only read. */
import { type CacheBase, clusterCache } from '../cluster/cluster-caches.ts';
import { eventResource } from '../kube/events.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import { type ClusterItems, clusterKinds } from '../model/cluster-kinds.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import { identityOf, type KubeObject, timestampMs } from '../model/object.ts';

const watchedKinds = [
  'nodes',
  'pools',
  'blocks',
  'reports',
  'peers',
  'ciliumNodes',
  'histories',
  'services',
  'servicePools',
  'serviceAddresses',
] as const;
type WatchedKind = (typeof watchedKinds)[number];

export interface KeptEvent extends Kept {
  atMs: number;
  isWarning: boolean;
  reason: string;
  message: string;
  about: { kind: string; name: string };
}

/** A cache as far as the console needs one. */
export interface ConsoleCache<T> {
  start(signal: AbortSignal): void;
  readonly hasSynced: boolean;
  /** Why there is nothing of it, where that is known. */
  readonly refusal: string | undefined;
  readonly size: number;
  get(name: string): T | undefined;
  values(): IterableIterator<T>;
  silentMs(): number;
}

export interface ConsoleCaches {
  /** What the cluster is. */
  cluster: { readonly [K in WatchedKind]: ConsoleCache<ClusterItems[K] & Kept> };
  /** What was said of it. */
  events: ConsoleCache<KeptEvent>;
}

export type CachedItems = Pick<ClusterItems, WatchedKind> & { events: KeptEvent };
export type CachedKind = keyof CachedItems;

export interface CacheListener {
  put<K extends CachedKind>(kind: K, next: CachedItems[K], prev: CachedItems[K] | undefined): void;
  gone<K extends CachedKind>(kind: K, last: CachedItems[K]): void;
}

export function makeCaches(base: CacheBase, listener: CacheListener): ConsoleCaches {
  const handler = <K extends CachedKind>(kind: K) => ({
    onPut: (next: CachedItems[K], prev: CachedItems[K] | undefined) =>
      listener.put(kind, next, prev),
    onDelete: (last: CachedItems[K]) => listener.gone(kind, last),
  });
  const cluster = Object.fromEntries(
    watchedKinds.map((kind) => [
      kind,
      clusterCache(kind, base, { handler: handler(kind) as never }),
    ]),
  ) as unknown as ConsoleCaches['cluster'];
  const events = new ListWatch<KeptEvent>({
    ...base,
    resource: eventResource,
    keep: (raw) => keepEvent(raw as KubeObject),
    handler: handler('events'),
  });
  return { cluster, events };
}

/** Objects of files: all there from the start. A kind that no file has was not looked at. */
export function savedCaches(items: ItemLists, listener: CacheListener): ConsoleCaches {
  const saved = <T extends Kept>(
    all: Iterable<T> | undefined,
    put: (item: T) => void,
    noun: string,
  ) => {
    const byName = new Map([...(all ?? [])].map((item) => [item.name, item]));
    return {
      start: () => {
        for (const item of byName.values()) put(item);
      },
      hasSynced: all !== undefined,
      refusal: all === undefined ? `no ${noun} in the files` : undefined,
      size: byName.size,
      get: (name: string) => byName.get(name),
      values: () => byName.values(),
      silentMs: () => 0,
    } satisfies ConsoleCache<T>;
  };
  const cluster = Object.fromEntries(
    watchedKinds.map((kind) => [
      kind,
      saved(
        items[kind] as Iterable<Kept> | undefined,
        (item) => listener.put(kind, item as never, undefined),
        clusterKinds[kind].resource.kind,
      ),
    ]),
  ) as unknown as ConsoleCaches['cluster'];
  return { cluster, events: saved<KeptEvent>(undefined, () => {}, 'Event') };
}

function keepEvent(object: KubeObject): KeptEvent {
  const event = object as {
    type?: string;
    reason?: string;
    message?: string;
    lastTimestamp?: string | null;
    eventTime?: string | null;
    involvedObject?: { kind?: string; name?: string };
  };
  const at = event.lastTimestamp ?? event.eventTime ?? object.metadata?.creationTimestamp;
  return {
    ...identityOf(object),
    namespace: object.metadata?.namespace ?? 'default',
    atMs: timestampMs(at),
    isWarning: event.type === 'Warning',
    reason: event.reason ?? '',
    message: event.message ?? '',
    about: { kind: event.involvedObject?.kind ?? '', name: event.involvedObject?.name ?? '' },
  };
}
