import type { ClaimNodes } from './claim-nodes.ts';
import type { ClaimOwners } from './claim-owners.ts';
import { depthOf, heapAt, slotAt, slotsOf } from './claim-slots.ts';
import type { Family } from './family.ts';
import type { Prefix } from './prefix.ts';

export interface Claim<Owner> {
  readonly prefix: Prefix;
  readonly owner: Owner;
}

/** Looks at claims in order, and ends when `see` says true. */
export class ClaimVisit<Owner> {
  readonly #nodes: ClaimNodes;
  readonly #owners: ClaimOwners<Owner>;
  readonly #family: Family;
  readonly #see: (claim: Claim<Owner>) => boolean;

  constructor(
    nodes: ClaimNodes,
    owners: ClaimOwners<Owner>,
    family: Family,
    see: (claim: Claim<Owner>) => boolean,
  ) {
    this.#nodes = nodes;
    this.#owners = owners;
    this.#family = family;
    this.#see = see;
  }

  /** Claims that contain the prefix, from the largest down, then it and what lies in it. */
  overlaps(prefix: Prefix): boolean {
    const nodes = this.#nodes;
    const end = depthOf(prefix.length);
    let node = nodes.root(this.#family);
    let depth = 0;
    while (depth < end) {
      const slot = slotAt(prefix, depth);
      if (this.#onTheWay(node, 16 + slot) || this.#at(node, 16 + slot)) return true;
      node = nodes.child(node, slot);
      if (node === 0) return false;
      depth = nodes.depth(node);
      if (!nodes.agrees(node, prefix, Math.min(prefix.length, depth))) return false;
    }
    if (depth > end) return this.all(node, 1);
    const heap = heapAt(prefix, end);
    return this.#onTheWay(node, heap) || this.all(node, heap);
  }

  /** The claims of a node from the heap number down, and of the children there. */
  all(node: number, heap: number): boolean {
    if ((~this.#nodes.empty(node) & slotsOf(heap)) === 0) return false;
    if (this.#at(node, heap)) return true;
    if (heap < 16) return this.all(node, 2 * heap) || this.all(node, 2 * heap + 1);
    const child = this.#nodes.child(node, heap - 16);
    return child !== 0 && this.all(child, 1);
  }

  #onTheWay(node: number, heap: number): boolean {
    for (let up = 31 - Math.clz32(heap); up > 0; up--) if (this.#at(node, heap >>> up)) return true;
    return false;
  }

  #at(node: number, heap: number): boolean {
    if (((this.#nodes.claims(node) >>> heap) & 1) === 0) return false;
    const prefix = this.#nodes.prefixAt(this.#family, node, heap);
    return this.#owners.all(node, heap).some((owner) => this.#see({ prefix, owner }));
  }
}
