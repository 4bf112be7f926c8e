import { ClaimNodes } from './claim-nodes.ts';
import { ClaimOwners } from './claim-owners.ts';
import { countAround, countIn, lowestAround, lowestIn } from './claim-search.ts';
import { depthOf, heapAt, slotAt, slotsOf } from './claim-slots.ts';
import { nodeFor, settle, tidy } from './claim-tree.ts';
import { type Claim, ClaimVisit } from './claim-visit.ts';
import { families, familyBits } from './family.ts';
import { Prefix } from './prefix.ts';

/**
 * The register's memory of who holds which block: one index over all pools, all
 * block sizes and both families, with owners. It answers three questions, each
 * in the depth of a trie and independent of how full it is: does anything
 * overlap this block, who is it, and which is the lowest free block in here.
 *
 * Peers ask less, and lost addresses by it. Kubernetes' bitmap knows no owners,
 * so the same block on two nodes is accepted and deleting one frees it for a
 * third; Cilium's asks whether a range is wholly used, and grants a /23 while a
 * /24 inside it is taken. Here a claim is refused if any other claim contains
 * it, equals it or lies in it. What is already the case, good or bad, can still
 * be recorded: the doctor needs the evidence.
 *
 * claim-nodes    the trie's memory: sixteen slots to a node, bitmaps, summaries
 * claim-owners   whose each claim is
 * claim-slots    arithmetic of the sixteen slots
 * claim-tree     how the trie changes, and how its summaries follow
 * claim-search   the lowest free block, and how many there are
 * claim-visit    claims in order, for refusals and listings
 *
 * A pool costs memory for what is claimed in it and nothing for its size: 2^32
 * blocks or 2^92 are the same. Pure: no clock, no metrics, no log.
 */

export type { Claim } from './claim-visit.ts';

export type ClaimAnswer<Owner> =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'held'; readonly by: Claim<Owner> };

const CLAIMED = { kind: 'claimed' } as const;

export class ClaimIndex<Owner> {
  #nodes = new ClaimNodes();
  #owners = new ClaimOwners<Owner>(this.#nodes);
  #size = 0;
  /**
   * Were overlapping claims recorded? As long as not, no claim lies over a node
   * from further up, and what is free in a node is free.
   */
  #mayOverlap = false;
  /** What was found last, and the node it ends in; as long as nothing changes it is free. */
  #found: Prefix | undefined;
  #foundIn = 0;

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
    const node = prefix === this.#found ? this.#foundIn : this.#lastNodeIfFree(prefix);
    if (node < 0) return this.#answerForHeld(prefix, owner);
    this.#put(node, prefix, owner);
    return CLAIMED;
  }

  /** Writes down what is the case, overlaps and all: evidence of trouble is evidence. */
  record(prefix: Prefix, owner: Owner): void {
    const last = prefix === this.#found ? this.#foundIn : this.#lastNodeIfFree(prefix);
    const start = last < 0 ? this.#nodes.root(prefix.family) : last;
    if (this.#put(start, prefix, owner) && last < 0) this.#mayOverlap = true;
  }

  /** Gives the block up. False if this very (prefix, owner) was not recorded, and nothing changes. */
  release(prefix: Prefix, owner: Owner): boolean {
    this.#found = undefined;
    const node = this.#nodeOf(prefix);
    if (node < 0) return false;
    const nodes = this.#nodes;
    const heap = heapAt(prefix, depthOf(prefix.length));
    const claims = nodes.claims(node);
    if (((claims >>> heap) & 1) === 0) return false;
    if (this.#owners.hasSeveral(node, heap)) {
      const all = this.#owners.all(node, heap);
      const left = all.filter((one) => one !== owner);
      if (left.length === all.length) return false;
      this.#owners.setAll(node, heap, left);
    } else {
      if (this.#owners.first(node, heap) !== owner) return false;
      this.#owners.forget(node, heap);
      nodes.setClaims(node, claims & ~(1 << heap));
      tidy(nodes, node);
    }
    this.#size--;
    return true;
  }

  /** Who holds exactly this prefix, in the order of recording. */
  owners(prefix: Prefix): Owner[] {
    const node = this.#nodeOf(prefix);
    return node < 0 ? [] : this.#owners.all(node, heapAt(prefix, depthOf(prefix.length)));
  }

  /** All claims that contain, equal or lie in the prefix; by address, larger blocks first. */
  overlapping(prefix: Prefix): Claim<Owner>[] {
    const claims: Claim<Owner>[] = [];
    this.#visit(prefix, (claim) => claims.push(claim) === 0);
    return claims;
  }

  /** The first of `overlapping` that is wanted, without looking at the rest. */
  firstOverlap(
    prefix: Prefix,
    isWanted: (claim: Claim<Owner>) => boolean = () => true,
  ): Claim<Owner> | undefined {
    let first: Claim<Owner> | undefined;
    this.#visit(prefix, (claim) => {
      if (!isWanted(claim)) return false;
      first = claim;
      return true;
    });
    return first;
  }

  /** All claims that contain or equal the prefix, the largest first, without looking into it. */
  around(prefix: Prefix): Claim<Owner>[] {
    const claims: Claim<Owner>[] = [];
    this.#visit(prefix, (claim) => {
      if (claim.prefix.length > prefix.length) return true;
      claims.push(claim);
      return false;
    });
    return claims;
  }

  /** Does no claim overlap the prefix in any way? */
  isFree(prefix: Prefix): boolean {
    return this.#lastNodeIfFree(prefix) >= 0;
  }

  /** The lowest aligned block of `length` inside `within` that no claim overlaps. */
  nextFree(within: Prefix, length: number): Prefix | undefined {
    const { family } = within;
    if (length < within.length || length > familyBits(family)) return undefined;
    const nodes = this.#nodes;
    const node = this.#narrow(within);
    if (node < 0) return node === FREE ? Prefix.of(within, length) : undefined;
    const depth = nodes.depth(node);
    if (depth > within.length) return lowestAround(nodes, within, node, length);
    const slots = depth === within.length ? 0xffff : slotsOf(heapAt(within, depth));
    nodes.foundIn = 0;
    const found = lowestIn(nodes, family, node, slots, length);
    if (nodes.foundIn !== 0) {
      this.#found = found;
      this.#foundIn = nodes.foundIn;
    }
    return found;
  }

  /** How many such blocks there are, at most Number.MAX_SAFE_INTEGER. */
  countFree(within: Prefix, length: number): number {
    const all = within.countOf(length);
    if (all === 0) return 0;
    const nodes = this.#nodes;
    const node = this.#narrow(within);
    if (node < 0) return node === FREE ? all : 0;
    const depth = nodes.depth(node);
    const count =
      depth > within.length
        ? countAround(nodes, within.length, node, length)
        : countIn(
            nodes,
            node,
            depth === within.length ? 0xffff : slotsOf(heapAt(within, depth)),
            length,
          );
    return Math.min(count, Number.MAX_SAFE_INTEGER);
  }

  /** Everything recorded, IPv4 first, by address; a snapshot, so the loop may claim and release. */
  entries(): Iterable<Claim<Owner>> {
    return families.flatMap((family) => this.overlapping(new Prefix(family, 0, 0, 0, 0, 0)));
  }

  clear(): void {
    this.#found = undefined;
    this.#nodes = new ClaimNodes();
    this.#owners = new ClaimOwners(this.#nodes);
    this.#size = 0;
    this.#mayOverlap = false;
  }

  /** How much memory there is, used or to be used again: in nodes (128 bytes) and owner lines (128). */
  get footprint(): { readonly nodes: number; readonly ownerLines: number } {
    return { nodes: this.#nodes.count, ownerLines: this.#owners.lineCount };
  }

  /** Records below `start`, a node on the way to where the prefix ends; false if it was so already. */
  #put(start: number, prefix: Prefix, owner: Owner): boolean {
    this.#found = undefined;
    const nodes = this.#nodes;
    const node = nodeFor(nodes, start, prefix);
    const heap = heapAt(prefix, depthOf(prefix.length));
    const claims = nodes.claims(node);
    if (((claims >>> heap) & 1) === 0) {
      this.#owners.setFirst(node, heap, owner);
      nodes.setClaims(node, claims | (1 << heap));
      settle(nodes, node, true);
    } else {
      const all = this.#owners.all(node, heap);
      if (all.includes(owner)) return false;
      this.#owners.setAll(node, heap, [...all, owner]);
    }
    this.#size++;
    return true;
  }

  #answerForHeld(prefix: Prefix, owner: Owner): ClaimAnswer<Owner> {
    let other: Claim<Owner> | undefined;
    this.#visit(prefix, (claim) => {
      if (claim.owner === owner && claim.prefix.equals(prefix)) return false;
      other = claim;
      return true;
    });
    return other === undefined ? CLAIMED : { kind: 'held', by: other };
  }

  #visit(prefix: Prefix, see: (claim: Claim<Owner>) => boolean): void {
    new ClaimVisit(this.#nodes, this.#owners, prefix.family, see).overlaps(prefix);
  }

  /** HELD if a claim overlaps the prefix, otherwise the last node on the way to where it would end. */
  #lastNodeIfFree(prefix: Prefix): number {
    const nodes = this.#nodes;
    const { mem } = nodes;
    const end = depthOf(prefix.length);
    let node = this.#mayOverlap ? 0 : nodes.shortcut(prefix, end);
    let depth = end;
    if (node === 0) {
      node = nodes.root(prefix.family);
      depth = 0;
    }
    while (depth < end) {
      const slot = slotAt(prefix, depth);
      const free = mem[node + 5]! >>> slot;
      if ((free & 0x10000) !== 0) return node;
      if ((free & 1) === 0) return HELD;
      const child = mem[node + 16 + slot]!;
      // Compared and not just read: the usual step then need not wait for the memory.
      if ((mem[child]! & 0xff) === depth + 4) depth += 4;
      else {
        depth = mem[child]! & 0xff;
        if (depth > end) return nodes.agrees(child, prefix, prefix.length) ? HELD : node;
        if (!nodes.agrees(child, prefix, depth)) return node;
      }
      node = child;
    }
    return (~(mem[node + 5]! >>> 16) & slotsOf(heapAt(prefix, end))) === 0 ? node : HELD;
  }

  /** The node in which the prefix ends; negative if there is none. */
  #nodeOf(prefix: Prefix): number {
    const nodes = this.#nodes;
    const { mem } = nodes;
    const end = depthOf(prefix.length);
    const known = nodes.shortcut(prefix, end);
    if (known !== 0) return known;
    let node = nodes.root(prefix.family);
    let depth = 0;
    while (depth < end) {
      node = mem[node + 16 + slotAt(prefix, depth)]!;
      if (node === 0) return FREE;
      if ((mem[node]! & 0xff) === depth + 4) depth += 4;
      else {
        depth = mem[node]! & 0xff;
        if (depth > end || !nodes.agrees(node, prefix, depth)) return FREE;
      }
    }
    nodes.remember(prefix, end, node);
    return node;
  }

  /** FREE, HELD (wholly), or what decides: the node where `within` ends, or the only one in it. */
  #narrow(within: Prefix): number {
    const nodes = this.#nodes;
    const end = depthOf(within.length);
    let node = nodes.root(within.family);
    let depth = 0;
    while (depth < end) {
      const slot = slotAt(within, depth);
      const free = nodes.free(node) >>> slot;
      if ((free & 0x10000) !== 0) return FREE;
      if ((free & 1) === 0) return HELD;
      node = nodes.child(node, slot);
      depth = nodes.depth(node);
      if (!nodes.agrees(node, within, Math.min(depth, within.length))) return FREE;
    }
    return node;
  }
}

/** Answers of a walk down to a prefix that ends at no node. */
const FREE = -1;
const HELD = -2;
