import { defaultCooldownSeconds } from '../model/ip-pool.ts';
import type { Block } from '../model/node-block.ts';
import { gaveBack } from '../model/node-report.ts';
import type { Reason } from '../model/reasons.ts';
import { allHoldings } from './holdings.ts';
import type { Register } from './register.ts';

/**
 * The end of a block's life. A block is let go in two steps, so that a crash
 * between them loses nothing: it cools first, still registered and still its
 * node's, and only when its rest is over is the object deleted.
 *
 * `cool` with `nodeGone` must be confirmed by a fresh read of the Node before it
 * is written: a cache or a list may be stale, and a Node that merely carries a
 * deletionTimestamp still runs pods.
 */
export type BlockStep =
  | { kind: 'stay' }
  | { kind: 'cool'; reason: Reason; nodeGone: boolean }
  | { kind: 'rest'; untilMs: number }
  | { kind: 'free' };

export function decideBlock(
  register: Register,
  block: Block,
  nowMs: number,
  byDemand: boolean,
): BlockStep {
  if (block.deleting) return { kind: 'stay' };
  if (block.phase === 'Guard') return guardStep(register, block);
  const node = register.nodes.get(block.nodeName);
  if (block.phase === 'Cooling') {
    const pool = register.poolSet.homeOf(block);
    const seconds = pool?.cooldownSeconds ?? defaultCooldownSeconds;
    const untilMs = block.coolingSinceMs + seconds * 1000;
    return nowMs >= untilMs ? { kind: 'free' } : { kind: 'rest', untilMs };
  }
  if (node === undefined) return { kind: 'cool', reason: 'Cooling', nodeGone: true };
  if (node.uid !== block.nodeUid) return { kind: 'stay' };
  if (isGivenBack(register, block, byDemand)) {
    return { kind: 'cool', reason: 'Released', nodeGone: false };
  }
  return { kind: 'stay' };
}

/** Whether a live node has emptied the block: by its agent's word, or because nothing knows of it. */
function isGivenBack(register: Register, block: Block, byDemand: boolean): boolean {
  if (block.phase !== 'Draining' && !byDemand) return false;
  const report = register.reports.get(block.nodeName);
  if (report !== undefined && report.nodeUid === block.nodeUid) {
    if (!gaveBack(report, block)) return false;
    if (block.phase === 'Draining') return true;
    // A node always has a block of a family: when it gives all of them back, the oldest stays.
    const active = register
      .blocksOf(block.nodeName)
      .filter(({ phase, prefix }) => phase === 'Active' && prefix.family === block.prefix.family);
    return block !== (active.find((other) => !gaveBack(report, other)) ?? active[0]);
  }
  if (block.phase !== 'Draining') return false;
  const evidence = allHoldings(register.holdingsOf(block.nodeName));
  return !evidence.some((held) => held.overlaps(block.prefix));
}

/**
 * A guard goes when no node holds a block of another size in its cell. Asked of
 * the claims, not of the guard's own list: the list may lack a block that moved
 * in later. A node that holds exactly the cell is waiting for the guard to go.
 */
function guardStep(register: Register, guard: Block): BlockStep {
  const isNeeded = register.claims
    .overlapping(guard.prefix)
    .some(({ prefix, owner }) => owner.startsWith('node/') && !prefix.equals(guard.prefix));
  return isNeeded ? { kind: 'stay' } : { kind: 'free' };
}
