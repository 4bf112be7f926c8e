import { type ClusterKind, clusterKindOf, clusterKinds } from '../../src/model/cluster-kinds.ts';
import type { ItemLists } from '../../src/model/cluster-state.ts';
import type { KubeObject } from '../../src/model/object.ts';

/** Objects as a cache would hold them. */
export function itemsOf(objects: readonly KubeObject[]): ItemLists {
  const items: Partial<Record<ClusterKind, unknown[]>> = {};
  for (const object of objects) {
    const kind = clusterKindOf(object);
    if (kind === undefined) throw new Error(`${object.kind} is no kind of a cluster`);
    const { item } = clusterKinds[kind].read(object);
    items[kind] ??= [];
    if (item !== undefined) items[kind].push(item);
  }
  return items as ItemLists;
}
