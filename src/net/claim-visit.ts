import { depthOf, heapAt, slotAt, slotsOf } from './claim-slots.ts';
import { CLAIMS, type ClaimStore, DEPTH, KIDS, rootOf, TOUCHED } from './claim-store.ts';
import type { Family } from './family.ts';
import type { Prefix } from './prefix.ts';

export interface Claim<Owner> {
  readonly prefix: Prefix;
  readonly owner: Owner;
}

/** Sees a claim; true ends the visit. */
type Visit<Owner> = (claim: Claim<Owner>) => boolean;

/** The claims that contain the prefix, from the largest down, then it and what lies in it, in order. */
export function visitOverlaps<Owner>(
  store: ClaimStore<Owner>,
  prefix: Prefix,
  visit: Visit<Owner>,
): void {
  const { mem } = store;
  const { family } = prefix;
  const end = depthOf(prefix.length);
  let node = rootOf(family);
  let depth = 0;
  while (depth < end) {
    const slot = slotAt(prefix, depth);
    for (let up = 4; up >= 0; up--) {
      if (visitAt(store, family, node, (16 + slot) >>> up, visit)) return;
    }
    if (((mem[node + KIDS]! >>> slot) & 1) === 0) return;
    node = store.childAt(node, slot);
    depth = mem[node + DEPTH]!;
    if (!store.agrees(node, prefix, Math.min(prefix.length, depth))) return;
  }
  if (depth > end) {
    visitAll(store, family, node, 1, visit);
    return;
  }
  const heap = heapAt(prefix, end);
  for (let up = 31 - Math.clz32(heap); up > 0; up--) {
    if (visitAt(store, family, node, heap >>> up, visit)) return;
  }
  visitAll(store, family, node, heap, visit);
}

/** The claims of a node from the heap number down, and of the children there, in order. */
export function visitAll<Owner>(
  store: ClaimStore<Owner>,
  family: Family,
  node: number,
  heap: number,
  visit: Visit<Owner>,
): boolean {
  if ((store.mem[node + TOUCHED]! & slotsOf(heap)) === 0) return false;
  if (visitAt(store, family, node, heap, visit)) return true;
  if (heap < 16) {
    return (
      visitAll(store, family, node, 2 * heap, visit) ||
      visitAll(store, family, node, 2 * heap + 1, visit)
    );
  }
  if (((store.mem[node + KIDS]! >>> (heap - 16)) & 1) === 0) return false;
  return visitAll(store, family, store.childAt(node, heap - 16), 1, visit);
}

function visitAt<Owner>(
  store: ClaimStore<Owner>,
  family: Family,
  node: number,
  heap: number,
  visit: Visit<Owner>,
): boolean {
  if (((store.mem[node + CLAIMS]! >>> heap) & 1) === 0) return false;
  const prefix = store.prefixAt(family, node, heap);
  return store.ownersAt(node, heap).some((owner) => visit({ prefix, owner }));
}
