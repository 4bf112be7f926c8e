/** What every verb works with. Time and chance are passed in. */
import type { Registry } from './registry.ts';
import { collectionNameOf, type ResourceType } from './resource.ts';
import type { Collection } from './store/collection.ts';
import type { ObjectStore } from './store/store.ts';
import type { Tokens } from './tokens.ts';

export interface Api {
  store: ObjectStore;
  registry: Registry;
  nowMs: () => number;
  random: () => number;
  newUid: () => string;
  tokens: Tokens;
  /** How long a list can be continued in pages of one moment. */
  continueSeconds: number;
  /** Somebody runs the pods, and says when a deleted one has ended. */
  hasKubelets: boolean;
}

/** A resource within a namespace, or in all of them. */
export interface ResourceScope {
  type: ResourceType;
  namespace: string | undefined;
}

export interface ObjectTarget extends ResourceScope {
  name: string;
  subresource: string | undefined;
}

export function collectionOf(api: Api, type: ResourceType): Collection {
  return api.store.collection(collectionNameOf(type));
}

export function keyIn({ namespace }: ResourceScope, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
