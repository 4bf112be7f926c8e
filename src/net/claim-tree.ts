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
    if (depth >= end) return node;
    const child = nodes.child(node, slotAt(prefix, depth));
    if (child === 0) {
      const leaf = nodes.add(prefix, end);
      attach(nodes, node, leaf);
      return leaf;
    }
    const childDepth = nodes.depth(child);
    const common = childDepth === depth + 4 ? childDepth : nodes.commonBits(child, prefix);
    if (common >= childDepth && childDepth <= end) {
      node = child;
      continue;
    }
    // The two part ways on a level that was left out: it gets its node now.
    const branch = nodes.add(prefix, Math.min(end, common & -4));
    attach(nodes, node, branch);
    attach(nodes, branch, child);
    node = branch;
  }
}

/**
 * After a claim of `node` went: takes out the nodes that are no longer needed
 * and settles the rest. Says which node went, or 0: it cannot be more than one
 * that had owners.
 */
export function tidy(nodes: ClaimNodes, node: number): number {
  const kids = nodes.kids(node);
  if (nodes.claims(node) !== 0 || (kids & (kids - 1)) !== 0 || nodes.depth(node) === 0) {
    settle(nodes, node, false);
    return 0;
  }
  const parent = nodes.parent(node);
  if (kids === 0) {
    nodes.detach(node);
    markFull(nodes, parent, nodes.slot(node), false);
    tidy(nodes, parent);
  } else {
    attach(nodes, parent, nodes.child(node, lowestBit(kids)));
    settle(nodes, parent, false);
  }
  nodes.drop(node);
  return node;
}

/**
 * Brings the summaries up to date from `changed` upwards, as far as they change.
 * Room either shrinks, by a claim, or grows.
 */
export function settle(nodes: ClaimNodes, changed: number, shrinks: boolean): void {
  let node = changed;
  for (;;) {
    const depth = nodes.depth(node);
    const own = claimedSlots(nodes.claims(node));
    const open = ~(own | nodes.fullKids(node)) & 0xffff;
    const empty = ~(own | nodes.kids(node)) & 0xffff;
    nodes.setOpen(node, open);
    nodes.setEmpty(node, empty);
    const before = nodes.largest(node);
    const largest =
      empty !== 0
        ? depth + bitsOfLargestRun(empty)
        : largestBelow(nodes, node, open, shrinks ? before : 0);
    if (largest === before) return;
    nodes.setLargest(node, largest);
    if (depth === 0) return;
    const parent = nodes.parent(node);
    // A child fills its slot if no level between the two was left out.
    const fills = open === 0 && nodes.depth(parent) + 4 === depth;
    markFull(nodes, parent, nodes.slot(node), fills);
    node = parent;
  }
}

/** The length of the largest free block in those slots, all with a child; `bound` is good enough. */
function largestBelow(nodes: ClaimNodes, node: number, slots: number, bound: number): number {
  const below = nodes.depth(node) + 4;
  let largest = 129;
  for (let rest = slots; rest !== 0 && largest > bound; rest &= rest - 1) {
    const child = nodes.child(node, lowestBit(rest));
    // A child below its slot's own level lies in one half of the slot; the other half is free.
    const here = nodes.depth(child) > below ? below + 1 : nodes.largest(child);
    if (here < largest) largest = here;
  }
  return largest;
}

function attach(nodes: ClaimNodes, parent: number, child: number): void {
  nodes.attach(parent, child);
  const fills = nodes.open(child) === 0 && nodes.depth(parent) + 4 === nodes.depth(child);
  markFull(nodes, parent, nodes.slot(child), fills);
}

function markFull(nodes: ClaimNodes, node: number, slot: number, isFull: boolean): void {
  const others = nodes.fullKids(node) & ~(1 << slot);
  nodes.setFullKids(node, isFull ? others | (1 << slot) : others);
}
