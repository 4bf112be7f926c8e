/**
 * Where the feed's objects come from: an API server that is followed, or files that were read
 * once. Behind this the console is the same.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadCluster } from '../cluster/read-cluster.ts';
import { Surroundings, surroundingKinds } from '../cluster/surroundings.ts';
import { UsedAddresses } from '../cluster/used-addresses.ts';
import type { KubeClient } from '../kube/client.ts';
import type { StatedSettings } from '../model/cluster-state.ts';
import {
  type CacheListener,
  type ConsoleCaches,
  makeCaches,
  savedCaches,
} from './console-caches.ts';

export interface FeedSource {
  caches(listener: CacheListener): ConsoleCaches;
  surroundings(onChange: () => void): Pick<Surroundings, 'items' | 'unread' | 'look' | 'follow'>;
  used: Pick<UsedAddresses, 'items' | 'isDue' | 'look'>;
}

export interface FollowedCluster {
  client: KubeClient;
  stated: StatedSettings;
  clock: Clock;
  log: Log;
}

export function followedSource({ client, stated, clock, log }: FollowedCluster): FeedSource {
  return {
    caches: (listener) => makeCaches({ client, clock, log }, listener),
    surroundings: (onChange) =>
      new Surroundings({
        client,
        log,
        bgpConfigMap: stated.bgpConfigMap,
        kinds: ['operatorReports', ...surroundingKinds],
        onChange,
      }),
    used: new UsedAddresses({ client, clock }),
  };
}

/** Nothing in it changes any more. */
export function savedSource({ items, unread }: ReadCluster): FeedSource {
  const still = async () => {};
  return {
    caches: (listener) => savedCaches(items, listener),
    // All kinds; those of the caches are the same items.
    surroundings: () => ({ items, unread, look: async () => false, follow: still }),
    used: { items: {}, isDue: false, look: still },
  };
}
