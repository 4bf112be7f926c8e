import type { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import type { KindRow } from '../model/cluster-kinds.ts';
import type { CacheScope } from './cluster-caches.ts';

/** A cache of one kind, which several followers in one process may share. */
export type FollowedCache<T extends Kept> = Pick<
  ListWatch<T>,
  'start' | 'synced' | 'hasSynced' | 'get' | 'values' | 'silentMs' | 'refusal'
>;

/** Where caches come from: a list and watch of one's own, or one that is shared. */
export type FollowCache = <T extends Kept>(
  row: KindRow<T>,
  scope: CacheScope<T>,
) => FollowedCache<T>;
