import { bitsOfLargestRun, claimedSlots, depthOf, lowestBit, slotAt } from './claim-slots.ts';
import {
  ALL,
  CLAIMS,
  type ClaimStore,
  COVERED,
  DEPTH,
  FULL_KIDS,
  KIDS,
  LARGEST,
  NONE,
  PARENT,
  SLOT,
  STRIDE,
  TOUCHED,
} from './claim-store.ts';
import type { Prefix } from './prefix.ts';

/**
 * How the trie changes. Levels on which nothing branches are left out, so a
 * child may lie deeper than its slot; a node other than the root has claims or
 * at least two children. Every change ends in `settle`, which carries the
 * summaries upwards as far as they change: mostly one or two nodes.
 */

/** The node in which `prefix` ends, made if it is missing; `start` is a node on the way to it. */
export function nodeFor<Owner>(store: ClaimStore<Owner>, start: number, prefix: Prefix): number {
  const end = depthOf(prefix.length);
  let node = start;
  for (;;) {
    const { mem } = store;
    const depth = mem[node + DEPTH]!;
    if (depth >= end) return node;
    const slot = slotAt(prefix, depth);
    if (((mem[node + KIDS]! >>> slot) & 1) === 0) {
      const leaf = store.addNode(prefix, end);
      attach(store, node, leaf);
      return leaf;
    }
    const child = store.childAt(node, slot);
    const childDepth = mem[child + DEPTH]!;
    const common = childDepth === depth + STRIDE ? childDepth : store.commonBits(child, prefix);
    if (common >= childDepth && childDepth <= end) {
      node = child;
      continue;
    }
    // The two part ways on a level that was left out: it gets its node now.
    const branch = store.addNode(prefix, Math.min(end, common & -STRIDE));
    attach(store, node, branch);
    attach(store, branch, child);
    node = branch;
  }
}

/** After a claim of `node` went: drops the nodes that are no longer needed, and settles the rest. */
export function tidy<Owner>(store: ClaimStore<Owner>, node: number): void {
  const { mem } = store;
  const kids = mem[node + KIDS]!;
  const isRoot = mem[node + DEPTH] === 0;
  if (isRoot || mem[node + CLAIMS] !== 0 || (kids & (kids - 1)) !== 0) {
    settle(store, node);
    return;
  }
  const parent = mem[node + PARENT]!;
  if (kids === 0) {
    store.detach(node);
    store.dropNode(node);
    tidy(store, parent);
  } else {
    attach(store, parent, store.childAt(node, lowestBit(kids)));
    store.dropNode(node);
    settle(store, parent);
  }
}

/**
 * Brings the summaries up to date: those of `changed`, whose claims or children
 * are others now, and those above it as far as they change.
 */
export function settle<Owner>(store: ClaimStore<Owner>, changed: number): void {
  const { mem } = store;
  let node = changed;
  for (;;) {
    let depth = mem[node + DEPTH]!;
    const own = claimedSlots(mem[node + CLAIMS]!);
    const covered = own | mem[node + FULL_KIDS]!;
    const touched = own | mem[node + KIDS]!;
    mem[node + COVERED] = covered;
    mem[node + TOUCHED] = touched;
    let largest = NONE;
    if (touched !== ALL) largest = depth + bitsOfLargestRun(~touched & ALL);
    else if (covered !== ALL) largest = largestBelow(store, node, ~covered & ALL, 0);
    let before = mem[node + LARGEST]!;
    mem[node + LARGEST] = largest;

    // Upwards, where only the room below one slot is another.
    while (before !== largest) {
      if (depth === 0) return;
      const isNew = before === depth;
      const bit = 1 << mem[node + SLOT]!;
      node = mem[node + PARENT]!;
      if (isNew) break;
      // With a level left out between the two, half of the slot stays free, whatever happens below.
      depth -= STRIDE;
      if (mem[node + DEPTH] !== depth) return;
      if (largest === NONE) {
        mem[node + FULL_KIDS]! |= bit;
        mem[node + COVERED]! |= bit;
      } else if (before === NONE) {
        mem[node + FULL_KIDS]! &= ~bit;
        mem[node + COVERED] = claimedSlots(mem[node + CLAIMS]!) | mem[node + FULL_KIDS]!;
      }
      if (mem[node + TOUCHED] !== ALL) return;
      const slots = ~mem[node + COVERED]! & ALL;
      const was = mem[node + LARGEST]!;
      if (largest > before) largest = before > was ? was : largestBelow(store, node, slots, was);
      else if (was < largest || (slots & bit) === 0) return;
      before = was;
      mem[node + LARGEST] = largest;
    }
    if (before === largest) return;
  }
}

/** The length of the largest free block in those slots, each of which has a child; `best` will do. */
function largestBelow<Owner>(
  store: ClaimStore<Owner>,
  node: number,
  slots: number,
  best: number,
): number {
  const { mem } = store;
  const below = mem[node + DEPTH]! + STRIDE;
  let largest = NONE;
  for (let rest = slots; rest !== 0 && largest > best; rest &= rest - 1) {
    const child = store.childAt(node, lowestBit(rest));
    // A child below its slot's own level lies in one half of the slot; the other half is free.
    const here = mem[child + DEPTH]! > below ? below + 1 : mem[child + LARGEST]!;
    if (here < largest) largest = here;
  }
  return largest;
}

function attach<Owner>(store: ClaimStore<Owner>, parent: number, child: number): void {
  store.attach(parent, child);
  markFull(store, child);
}

/** A child fills its slot if nothing in it is free and no level between the two was left out. */
function markFull<Owner>(store: ClaimStore<Owner>, child: number): void {
  const { mem } = store;
  const parent = mem[child + PARENT]!;
  const bit = 1 << mem[child + SLOT]!;
  const fills =
    mem[child + LARGEST] === NONE && mem[child + DEPTH] === mem[parent + DEPTH]! + STRIDE;
  if (fills) mem[parent + FULL_KIDS]! |= bit;
  else mem[parent + FULL_KIDS]! &= ~bit;
}
