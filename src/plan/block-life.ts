import { defaultCooldownSeconds } from '../model/ip-pool.ts';
import type { Block } from '../model/node-block.ts';
import type { Reason } from '../model/reasons.ts';
import { parsePrefix } from '../net/prefix.ts';
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
    const pool = register.poolSet.get(block.pool);
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
    const released = report.releases.some((text) => parsePrefix(text)?.equals(block.prefix));
    if (!released) return false;
    if (block.phase === 'Draining') return true;
    const siblings = register
      .blocksOf(block.nodeName)
      .filter(
        (other) =>
          other.prefix.family === block.prefix.family &&
          other.phase === 'Active' &&
          other !== block &&
          !report.releases.some((text) => parsePrefix(text)?.equals(other.prefix)),
      );
    return siblings.length > 0;
  }
  if (block.phase !== 'Draining') return false;
  const evidence = allHoldings(register.holdingsOf(block.nodeName));
  return !evidence.some((held) => held.overlaps(block.prefix));
}

/** A guard goes when none of the blocks it guards is registered any more. */
function guardStep(register: Register, guard: Block): BlockStep {
  for (const text of guard.guards) {
    const prefix = parsePrefix(text);
    if (prefix === undefined) continue;
    const held = register.claims
      .overlapping(prefix)
      .some(({ prefix: other, owner }) => other.equals(prefix) && owner.startsWith('node/'));
    if (held) return { kind: 'stay' };
  }
  return { kind: 'free' };
}
