import type { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';

/** A cache of one resource, as the agent uses it. */
export type FollowedCache<T extends Kept> = Pick<
  ListWatch<T>,
  'start' | 'synced' | 'hasSynced' | 'size' | 'get' | 'values' | 'silentMs'
>;

export interface CacheSpec<T extends Kept> {
  resource: Resource;
  namespace?: string;
  fieldSelector?: string;
  /** What `keep` makes of an object differs from node to node. */
  isPerNode?: true;
  keep: (raw: unknown) => T;
  handler: CacheHandler<T>;
}

/** Where caches come from, if not from a list and watch of this agent's own. */
export type FollowCache = <T extends Kept>(spec: CacheSpec<T>) => FollowedCache<T>;
