import type { ClaimNodes } from './claim-nodes.ts';
import { bitsOfLargestRun, claimedSlots, depthOf, lowestBit, slotAt } from './claim-slots.ts';
import type { Prefix } from './prefix.ts';

/**
 * How the trie changes. Levels on which nothing branches are left out, so a
 * child may lie deeper than its slot; a node other than the root has claims or
 * at least two children. Every change ends in `settle`, which carries the
 * summaries upwards as far as they change.
 */

/** The node in which `prefix` ends, made if it is missing; `start` is a node on the way to it. */
export function nodeFor(nodes: ClaimNodes, start: number, prefix: Prefix): number {
  const end = depthOf(prefix.length);
  let node = start;
  for (;;) {
    const depth = nodes.depth(node);
    if (depth === end) return node;
    const child = nodes.child(node, slotAt(prefix, depth));
    if (child === 0) {
      const leaf = nodes.add(prefix.family, prefix, end);
      nodes.attach(node, leaf);
      nodes.remember(prefix, end, leaf);
      return leaf;
    }
    const childDepth = nodes.depth(child);
    const common = childDepth === depth + 4 ? childDepth : nodes.commonBits(child, prefix);
    if (common >= childDepth && childDepth <= end) {
      node = child;
      continue;
    }
    // The two part ways on a level that was left out: it gets its node now.
    const branch = nodes.add(prefix.family, prefix, Math.min(end, common & -4));
    nodes.attach(node, branch);
    nodes.attach(branch, child);
    node = branch;
  }
}

/** After a claim of `node` went: takes out the nodes that are no longer needed, settles the rest. */
export function tidy(nodes: ClaimNodes, node: number): void {
  const kids = nodes.kids(node);
  if (nodes.claims(node) !== 0 || (kids & (kids - 1)) !== 0 || nodes.depth(node) === 0) {
    settle(nodes, node, false);
    return;
  }
  const parent = nodes.parent(node);
  if (kids === 0) {
    nodes.detach(node);
    tidy(nodes, parent);
  } else {
    nodes.attach(parent, nodes.child(node, lowestBit(kids)));
    settle(nodes, parent, false);
  }
  nodes.drop(node);
}

/**
 * Brings the summaries up to date: that of `changed`, whose claims or children
 * are others now, and those above as far as they change. Room either shrinks,
 * by a claim, or grows.
 */
export function settle(nodes: ClaimNodes, changed: number, shrinks: boolean): void {
  const { mem } = nodes;
  let node = changed;
  for (;;) {
    let head = mem[node]!;
    let depth = head & 0xff;
    const own = claimedSlots(mem[node + 3]!);
    const kids = mem[node + 4]!;
    let free = ~(own | ((own | kids) << 16));
    if ((kids & ~own) !== 0) free &= ~fullKids(nodes, node, kids);
    mem[node + 5] = free;
    let largest =
      free >>> 16 !== 0
        ? depth + bitsOfLargestRun(free >>> 16)
        : largestBelow(nodes, node, free, 0);

    // Upwards, where only the room in one slot is another.
    for (;;) {
      const before = head >>> 16;
      if (before === largest) return;
      mem[node] = (head & 0xffff) | (largest << 16);
      if (depth === 0) return;
      node = mem[node + 2]!;
      // A node that was wholly free is new, and its parent's slot is to be looked at as a whole.
      if (before === depth) break;
      const bit = 1 << ((head >>> 8) & 15);
      head = mem[node]!;
      depth -= 4;
      // With a level left out between the two, half of the slot is free, whatever happens below.
      if ((head & 0xff) !== depth) return;
      free = mem[node + 5]!;
      if (largest > 128) {
        free &= ~bit;
        mem[node + 5] = free;
      } else if (before > 128) {
        if ((claimedSlots(mem[node + 3]!) & bit) !== 0) return;
        free |= bit;
        mem[node + 5] = free;
      }
      if (free >>> 16 !== 0) return;
      if (shrinks) largest = largestBelow(nodes, node, free, head >>> 16);
      else if ((free & bit) === 0 || head >>> 16 < largest) return;
    }
  }
}

/** The slots whose child leaves nothing of the slot free: none that lies deeper than its slot. */
function fullKids(nodes: ClaimNodes, node: number, kids: number): number {
  let full = 0;
  for (let rest = kids; rest !== 0; rest &= rest - 1) {
    const slot = lowestBit(rest);
    const child = nodes.child(node, slot);
    if (nodes.largest(child) > 128 && nodes.depth(child) === nodes.depth(node) + 4)
      full |= 1 << slot;
  }
  return full;
}

/** The length of the largest free block in those slots, all with a child; `bound` is good enough. */
function largestBelow(nodes: ClaimNodes, node: number, slots: number, bound: number): number {
  const { mem } = nodes;
  const below = (mem[node]! & 0xff) + 4;
  let largest = 129;
  for (let rest = slots; rest !== 0 && largest > bound; rest &= rest - 1) {
    const head = mem[mem[node + 16 + lowestBit(rest)]!]!;
    // A child below its slot's own level lies in one half of the slot; the other half is free.
    const here = (head & 0xff) > below ? below + 1 : head >>> 16;
    if (here < largest) largest = here;
  }
  return largest;
}
