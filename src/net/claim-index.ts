import { nodeFor, settle, tidy } from './claim-node.ts';
import { countAround, countIn, lowestAround, lowestIn } from './claim-search.ts';
import { depthOf, heapAt, slotAt, slotsOf } from './claim-slots.ts';
import { ALL, CLAIMS, ClaimStore, COVERED, DEPTH, rootOf, STRIDE, TOUCHED } from './claim-store.ts';
import { type Claim, visitAll, visitOverlaps } from './claim-visit.ts';
import { type Family, familyBits } from './family.ts';
import { Prefix } from './prefix.ts';

export type { Claim } from './claim-visit.ts';

export type ClaimAnswer<Owner> =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'held'; readonly by: Claim<Owner> };

const CLAIMED = { kind: 'claimed' } as const;

/** Answers of a walk down to a prefix, beside the node where it ended. */
const FREE = -1;
const HELD = -2;
const NOWHERE = -1;

export class ClaimIndex<Owner> {
  #store = new ClaimStore<Owner>();
  #size = 0;
  /**
   * Where the last `nextFree` ended, until something changes: nothing above that
   * node is in the way, so the claim that mostly follows need not walk down again.
   */
  #lastFreeNode = NOWHERE;
  #lastFreeFamily: Family = 'ipv4';

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
    const node = this.#lastNodeIfFree(prefix);
    if (node === HELD) return this.#answerForHeld(prefix, owner);
    this.#put(node, prefix, owner);
    return CLAIMED;
  }

  /** Writes down what is the case, overlaps and all: evidence of trouble is evidence. */
  record(prefix: Prefix, owner: Owner): void {
    this.#put(rootOf(prefix.family), prefix, owner);
  }

  /** Gives the block up. False if this very (prefix, owner) was not recorded, and nothing changes. */
  release(prefix: Prefix, owner: Owner): boolean {
    const store = this.#store;
    const { mem } = store;
    const node = this.#nodeOf(prefix);
    if (node < 0) return false;
    const heap = heapAt(prefix, depthOf(prefix.length));
    if (((mem[node + CLAIMS]! >>> heap) & 1) === 0) return false;
    this.#lastFreeNode = NOWHERE;
    if (store.hasFurther(node, heap)) {
      const owners = store.ownersAt(node, heap);
      const [first, ...others] = owners.filter((one) => one !== owner);
      if (others.length + 1 === owners.length) return false;
      store.setOwners(node, heap, [first as Owner, ...others]);
    } else {
      if (store.ownerAt(node, heap) !== owner) return false;
      store.setOwner(node, heap, undefined);
      mem[node + CLAIMS]! &= ~(1 << heap);
      tidy(store, node);
    }
    this.#size--;
    return true;
  }

  /** Who holds exactly this prefix, in the order of recording. */
  owners(prefix: Prefix): Owner[] {
    const node = this.#nodeOf(prefix);
    return node < 0 ? [] : this.#store.ownersAt(node, heapAt(prefix, depthOf(prefix.length)));
  }

  /** All claims that contain, equal or lie in the prefix; by address, larger blocks first. */
  overlapping(prefix: Prefix): Claim<Owner>[] {
    const claims: Claim<Owner>[] = [];
    visitOverlaps(this.#store, prefix, (claim) => {
      claims.push(claim);
      return false;
    });
    return claims;
  }

  /** The first of `overlapping`, without looking at the rest. */
  firstOverlap(prefix: Prefix): Claim<Owner> | undefined {
    let first: Claim<Owner> | undefined;
    visitOverlaps(this.#store, prefix, (claim) => {
      first = claim;
      return true;
    });
    return first;
  }

  /** Does no claim overlap the prefix in any way? */
  isFree(prefix: Prefix): boolean {
    return this.#lastNodeIfFree(prefix) !== HELD;
  }

  /** The lowest aligned block of `length` inside `within` that no claim overlaps. */
  nextFree(within: Prefix, length: number): Prefix | undefined {
    const { family } = within;
    if (length < within.length || length > familyBits(family)) return undefined;
    const store = this.#store;
    const node = this.#narrow(within);
    if (node === FREE) return Prefix.of(within, length);
    if (node === HELD) return undefined;
    const depth = store.mem[node + DEPTH]!;
    if (depth > within.length) return lowestAround(store, within, node, length);
    const slots = depth === within.length ? ALL : slotsOf(heapAt(within, depth));
    const block = lowestIn(store, family, node, slots, length);
    this.#lastFreeNode = store.found;
    this.#lastFreeFamily = family;
    return block;
  }

  /** How many such blocks there are, at most Number.MAX_SAFE_INTEGER. */
  countFree(within: Prefix, length: number): number {
    const all = within.countOf(length);
    if (all === 0) return 0;
    const store = this.#store;
    const node = this.#narrow(within);
    if (node === FREE) return all;
    if (node === HELD) return 0;
    const depth = store.mem[node + DEPTH]!;
    const count =
      depth > depthOf(within.length)
        ? countAround(store, within.length, node, length)
        : countIn(store, node, slotsOf(heapAt(within, depth)), length);
    return Math.min(count, Number.MAX_SAFE_INTEGER);
  }

  /** Everything recorded, IPv4 first, by address; a snapshot, so the loop may claim and release. */
  entries(): Iterable<Claim<Owner>> {
    const claims: Claim<Owner>[] = [];
    const keep = (claim: Claim<Owner>) => {
      claims.push(claim);
      return false;
    };
    visitAll(this.#store, 'ipv4', rootOf('ipv4'), 1, keep);
    visitAll(this.#store, 'ipv6', rootOf('ipv6'), 1, keep);
    return claims;
  }

  clear(): void {
    this.#store = new ClaimStore();
    this.#lastFreeNode = NOWHERE;
    this.#size = 0;
  }

  /** Records below `start`, a node on the way to where the prefix ends. */
  #put(start: number, prefix: Prefix, owner: Owner): void {
    const store = this.#store;
    this.#lastFreeNode = NOWHERE;
    const node = nodeFor(store, start, prefix);
    const heap = heapAt(prefix, depthOf(prefix.length));
    if (((store.mem[node + CLAIMS]! >>> heap) & 1) === 0) {
      store.setOwner(node, heap, owner);
      store.mem[node + CLAIMS]! |= 1 << heap;
      settle(store, node);
    } else {
      const [first, ...others] = store.ownersAt(node, heap);
      if (first === owner || others.includes(owner)) return;
      store.setOwners(node, heap, [first as Owner, ...others, owner]);
    }
    this.#size++;
  }

  #answerForHeld(prefix: Prefix, owner: Owner): ClaimAnswer<Owner> {
    let other: Claim<Owner> | undefined;
    visitOverlaps(this.#store, prefix, (claim) => {
      if (claim.owner === owner && claim.prefix.equals(prefix)) return false;
      other = claim;
      return true;
    });
    return other === undefined ? CLAIMED : { kind: 'held', by: other };
  }

  /** HELD if a claim overlaps the prefix, otherwise the last node on the way to where it would end. */
  #lastNodeIfFree(prefix: Prefix): number {
    const store = this.#store;
    const { mem } = store;
    const end = depthOf(prefix.length);
    let node = this.#lastFreeNode;
    if (
      node !== NOWHERE &&
      mem[node + DEPTH] === end &&
      prefix.family === this.#lastFreeFamily &&
      store.agrees(node, prefix, end)
    ) {
      return (mem[node + TOUCHED]! & slotsOf(heapAt(prefix, end))) === 0 ? node : HELD;
    }
    node = rootOf(prefix.family);
    let depth = 0;
    while (depth < end) {
      const slot = slotAt(prefix, depth);
      if (((mem[node + TOUCHED]! >>> slot) & 1) === 0) return node;
      if (((mem[node + COVERED]! >>> slot) & 1) === 1) return HELD;
      const child = store.childAt(node, slot);
      const childDepth = mem[child + DEPTH]!;
      if (childDepth > depth + STRIDE) {
        if (childDepth > end) return store.agrees(child, prefix, prefix.length) ? HELD : node;
        if (!store.agrees(child, prefix, childDepth)) return node;
      }
      node = child;
      depth = childDepth;
    }
    return (mem[node + TOUCHED]! & slotsOf(heapAt(prefix, end))) === 0 ? node : HELD;
  }

  /** The node in which the prefix ends; negative if there is none. */
  #nodeOf(prefix: Prefix): number {
    const store = this.#store;
    const { mem } = store;
    const end = depthOf(prefix.length);
    let node = rootOf(prefix.family);
    let depth = 0;
    let skipped = false;
    while (depth < end) {
      node = store.childAt(node, slotAt(prefix, depth));
      if (node === 0) return FREE;
      // Compared and not just read: the usual step then need not wait for the memory.
      if (mem[node + DEPTH] === depth + STRIDE) depth += STRIDE;
      else {
        depth = mem[node + DEPTH]!;
        skipped = true;
      }
    }
    return depth === end && (!skipped || store.agrees(node, prefix, depth)) ? node : FREE;
  }

  /** FREE, HELD (wholly), or what decides: the node where `within` ends, or the only one in it. */
  #narrow(within: Prefix): number {
    const store = this.#store;
    const { mem } = store;
    const end = depthOf(within.length);
    let node = rootOf(within.family);
    let depth = 0;
    while (depth < end) {
      const slot = slotAt(within, depth);
      if (((mem[node + TOUCHED]! >>> slot) & 1) === 0) return FREE;
      if (((mem[node + COVERED]! >>> slot) & 1) === 1) return HELD;
      node = store.childAt(node, slot);
      depth = mem[node + DEPTH]!;
      if (depth > end) return store.agrees(node, within, within.length) ? node : FREE;
      if (!store.agrees(node, within, depth)) return FREE;
    }
    return node;
  }
}
