/** The console's caches of cluster state: enough for every view, and only read. */
import { type CacheBase, type ClusterCaches, clusterCache } from '../cluster/cluster-caches.ts';
import { eventResource } from '../kube/events.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import type { ClusterItems } from '../model/cluster-kinds.ts';
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

export interface ConsoleCaches {
  /** What the cluster is. */
  cluster: ClusterCaches<WatchedKind>;
  /** What was said of it. */
  events: ListWatch<KeptEvent>;
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
  ) as unknown as ClusterCaches<WatchedKind>;
  const events = new ListWatch<KeptEvent>({
    ...base,
    resource: eventResource,
    keep: (raw) => keepEvent(raw as KubeObject),
    handler: handler('events'),
  });
  return { cluster, events };
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
