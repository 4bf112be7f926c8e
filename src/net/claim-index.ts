import {
  ALL,
  type Claim,
  ClaimNode,
  depthOf,
  heapAt,
  nodeFor,
  STRIDE,
  settle,
  slotAt,
  slotsOf,
  tidy,
} from './claim-node.ts';
import { countAround, countIn, lowestAround, lowestIn } from './claim-search.ts';
import type { Family } from './family.ts';
import { Prefix } from './prefix.ts';
import { agree } from './words.ts';

export type { Claim } from './claim-node.ts';

export type ClaimAnswer<Owner> =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'held'; readonly by: Claim<Owner> };

const CLAIMED = { kind: 'claimed' } as const;

export class ClaimIndex<Owner> {
  #v4: ClaimNode<Owner>;
  #v6: ClaimNode<Owner>;
  #size = 0;

  constructor() {
    this.#v4 = emptyRoot('ipv4');
    this.#v6 = emptyRoot('ipv6');
  }

  /** How many (prefix, owner) pairs are recorded. */
  get size(): number {
    return this.#size;
  }

  /**
   * Takes the block for the owner unless anything at all overlaps it: the same
   * block of somebody else, a larger one around it, a smaller one in it. Taking
   * what one has already is fine, so that a restart can be a replay.
   */
  claim(prefix: Prefix, owner: Owner): ClaimAnswer<Owner> {
    if (!this.isFree(prefix)) {
      let own = false;
      let other: Claim<Owner> | undefined;
      visitOverlaps(this.#root(prefix.family), prefix, (claim) => {
        if (claim.owner === owner && claim.prefix.equals(prefix)) own = true;
        else other = claim;
        return other !== undefined;
      });
      if (other !== undefined) return { kind: 'held', by: other };
      if (own) return CLAIMED;
    }
    this.#put(prefix, owner);
    return CLAIMED;
  }

  /** Writes down what is the case, overlaps and all: evidence of trouble is evidence. */
  record(prefix: Prefix, owner: Owner): void {
    this.#put(prefix, owner);
  }

  /** Gives the block up. False if this very (prefix, owner) was not recorded, and nothing changes. */
  release(prefix: Prefix, owner: Owner): boolean {
    const node = this.#nodeOf(prefix);
    if (node === undefined) return false;
    const heap = heapAt(prefix, node.depth);
    if (((node.claims >>> heap) & 1) === 0) return false;
    const first = node.entries![heap]!;
    const ofFirst = first.owner === owner;
    const further =
      node.more?.findIndex(
        (claim) => claim.prefix.equals(prefix) && (ofFirst || claim.owner === owner),
      ) ?? -1;
    if (further >= 0) {
      const [claim] = node.more!.splice(further, 1);
      if (ofFirst) node.entries![heap] = claim;
    } else if (ofFirst) {
      node.entries![heap] = undefined;
      node.claims &= ~(1 << heap);
      tidy(node);
    } else return false;
    this.#size--;
    return true;
  }

  /** Who holds exactly this prefix, in the order of recording. */
  owners(prefix: Prefix): Owner[] {
    const node = this.#nodeOf(prefix);
    return node === undefined
      ? []
      : claimsAt(node, heapAt(prefix, node.depth)).map((claim) => claim.owner);
  }

  /** All claims that contain, equal or lie in the prefix; by address, larger blocks first. */
  overlapping(prefix: Prefix): Claim<Owner>[] {
    const claims: Claim<Owner>[] = [];
    visitOverlaps(this.#root(prefix.family), prefix, (claim) => {
      claims.push(claim);
      return false;
    });
    return claims;
  }

  /** The first of `overlapping`, without looking at the rest. */
  firstOverlap(prefix: Prefix): Claim<Owner> | undefined {
    let first: Claim<Owner> | undefined;
    visitOverlaps(this.#root(prefix.family), prefix, (claim) => {
      first = claim;
      return true;
    });
    return first;
  }

  /** Does no claim overlap the prefix in any way? */
  isFree(prefix: Prefix): boolean {
    const depth = depthOf(prefix.length);
    let node = this.#root(prefix.family);
    while (node.depth < depth) {
      const slot = slotAt(prefix, node.depth);
      if (((node.touched >>> slot) & 1) === 0) return true;
      if (((node.covered >>> slot) & 1) === 1) return false;
      const child = node.children![slot]!;
      if (child.depth > depth) return !agree(prefix, child, prefix.length);
      if (child.depth > node.depth + STRIDE && !agree(prefix, child, child.depth)) return true;
      node = child;
    }
    return (node.touched & slotsOf(heapAt(prefix, depth))) === 0;
  }

  /** The lowest aligned block of `length` inside `within` that no claim overlaps. */
  nextFree(within: Prefix, length: number): Prefix | undefined {
    if (within.countOf(length) === 0) return undefined;
    const at = this.#narrow(within);
    if (at === 'free') return Prefix.of(within, length);
    if (at === 'covered') return undefined;
    if (at.depth > depthOf(within.length)) return lowestAround(within, at, length);
    return lowestIn(at, slotsOf(heapAt(within, at.depth)), length);
  }

  /** How many such blocks there are, at most Number.MAX_SAFE_INTEGER. */
  countFree(within: Prefix, length: number): number {
    const all = within.countOf(length);
    if (all === 0) return 0;
    const at = this.#narrow(within);
    if (at === 'free') return all;
    if (at === 'covered') return 0;
    const count =
      at.depth > depthOf(within.length)
        ? countAround(within.length, at, length)
        : countIn(at, slotsOf(heapAt(within, at.depth)), length);
    return Math.min(count, Number.MAX_SAFE_INTEGER);
  }

  /** Everything recorded, IPv4 first, by address; a snapshot, so the loop may claim and release. */
  entries(): Iterable<Claim<Owner>> {
    const claims: Claim<Owner>[] = [];
    const keep = (claim: Claim<Owner>) => {
      claims.push(claim);
      return false;
    };
    visitAll(this.#v4, 1, keep);
    visitAll(this.#v6, 1, keep);
    return claims;
  }

  clear(): void {
    this.#v4 = emptyRoot('ipv4');
    this.#v6 = emptyRoot('ipv6');
    this.#size = 0;
  }

  #root(family: Family): ClaimNode<Owner> {
    return family === 'ipv4' ? this.#v4 : this.#v6;
  }

  #put(prefix: Prefix, owner: Owner): void {
    const node = nodeFor(this.#root(prefix.family), prefix);
    const heap = heapAt(prefix, node.depth);
    if (((node.claims >>> heap) & 1) === 0) {
      node.entries ??= new Array<Claim<Owner> | undefined>(32);
      node.entries[heap] = { prefix, owner };
      node.claims |= 1 << heap;
      settle(node);
    } else {
      if (claimsAt(node, heap).some((claim) => claim.owner === owner)) return;
      node.more ??= [];
      node.more.push({ prefix, owner });
    }
    this.#size++;
  }

  /** The node in which the prefix ends, if there is one. */
  #nodeOf(prefix: Prefix): ClaimNode<Owner> | undefined {
    const depth = depthOf(prefix.length);
    let node = this.#root(prefix.family);
    while (node.depth < depth) {
      const slot = slotAt(prefix, node.depth);
      if (((node.kids >>> slot) & 1) === 0) return undefined;
      node = node.children![slot]!;
    }
    return node.depth === depth && agree(prefix, node, depth) ? node : undefined;
  }

  /**
   * What decides about the free blocks of `within`: nothing is claimed there,
   * or nothing is free, or the node in which it ends, or the one node inside it.
   */
  #narrow(within: Prefix): ClaimNode<Owner> | 'free' | 'covered' {
    const depth = depthOf(within.length);
    let node = this.#root(within.family);
    while (node.depth < depth) {
      const slot = slotAt(within, node.depth);
      if (((node.touched >>> slot) & 1) === 0) return 'free';
      if (((node.covered >>> slot) & 1) === 1) return 'covered';
      const child = node.children![slot]!;
      if (child.depth > depth) {
        return agree(within, child, within.length) ? child : 'free';
      }
      if (child.depth > node.depth + STRIDE && !agree(within, child, child.depth)) return 'free';
      node = child;
    }
    return node;
  }
}

function emptyRoot<Owner>(family: Family): ClaimNode<Owner> {
  return new ClaimNode<Owner>({ family, w0: 0, w1: 0, w2: 0, w3: 0 }, 0);
}

function claimsAt<Owner>(node: ClaimNode<Owner>, heap: number): Claim<Owner>[] {
  if (((node.claims >>> heap) & 1) === 0) return [];
  const first = node.entries![heap]!;
  if (node.more === undefined) return [first];
  return [first, ...node.more.filter((claim) => claim.prefix.equals(first.prefix))];
}

/** Sees a claim; true ends the visit. */
type Visit<Owner> = (claim: Claim<Owner>) => boolean;

function visitOverlaps<Owner>(root: ClaimNode<Owner>, prefix: Prefix, visit: Visit<Owner>): void {
  const depth = depthOf(prefix.length);
  let node = root;
  for (;;) {
    const ends = node.depth === depth;
    const heap = ends ? heapAt(prefix, depth) : 16 + slotAt(prefix, node.depth);
    const level = 31 - Math.clz32(heap);
    // What contains the prefix (or what is left of it in this node), from the largest down.
    for (let up = level; up > (ends ? 0 : -1); up--) {
      for (const claim of claimsAt(node, heap >>> up)) if (visit(claim)) return;
    }
    if (ends) {
      visitAll(node, heap, visit);
      return;
    }
    if (((node.kids >>> (heap & 15)) & 1) === 0) return;
    const child: ClaimNode<Owner> = node.children![heap & 15]!;
    if (!agree(prefix, child, Math.min(prefix.length, child.depth))) return;
    if (child.depth > depth) {
      visitAll(child, 1, visit);
      return;
    }
    node = child;
  }
}

/** The claims of a node from the heap number down, and of the children there, in order. */
function visitAll<Owner>(node: ClaimNode<Owner>, heap: number, visit: Visit<Owner>): boolean {
  if ((node.touched & slotsOf(heap) & ALL) === 0) return false;
  if (((node.claims >>> heap) & 1) === 1) {
    for (const claim of claimsAt(node, heap)) if (visit(claim)) return true;
  }
  if (heap < 16) return visitAll(node, 2 * heap, visit) || visitAll(node, 2 * heap + 1, visit);
  return ((node.kids >>> (heap & 15)) & 1) === 1 && visitAll(node.children![heap & 15]!, 1, visit);
}
