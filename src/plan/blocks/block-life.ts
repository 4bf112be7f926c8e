import { defaultCooldownSeconds } from '../../model/ip-pool.ts';
import type { Block } from '../../model/node-block.ts';
import { gaveBack, type NodeReport } from '../../model/node-report.ts';
import type { Reason } from '../../model/reasons.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { allHoldings } from './holdings.ts';
import type { Register } from './register.ts';

/**
 * The end of a block's life. A block is released in two steps, so that a crash
 * between them loses nothing: first a cool-down, still registered and still its
 * node's, and only when that is over is the object deleted.
 *
 * What depends on something *not* being there must be confirmed by a fresh read
 * before it is written, because a cache or a list may be stale. `cool` with
 * `nodeGone`: read the Node (one that merely carries a deletionTimestamp is there,
 * and still runs pods). `cool` with `noRecord`: read the Node and the CiliumNode,
 * take them in, and ask again. In the same way a guard is freed only if the
 * API server itself says that none of `unlessExists` exists: a leader that has
 * seen the guard need not have seen the block behind it.
 */
export type BlockStep =
  | { kind: 'stay' }
  | { kind: 'cool'; reason: Reason; nodeGone: boolean; noRecord: boolean }
  | { kind: 'rest'; untilMs: number }
  | { kind: 'free'; unlessExists: Prefix[] };

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
    return nowMs >= untilMs ? { kind: 'free', unlessExists: [] } : { kind: 'rest', untilMs };
  }
  if (node === undefined) {
    return { kind: 'cool', reason: 'Cooling', nodeGone: true, noRecord: false };
  }
  if (node.uid !== block.nodeUid) return { kind: 'stay' };
  const proof = proofOfRelease(register, block, byDemand);
  if (proof === undefined) return { kind: 'stay' };
  const noRecord = proof === 'no record';
  return { kind: 'cool', reason: 'Released', nodeGone: false, noRecord };
}

/** What says that a live node has emptied the block: its agent's word, or that nothing knows of it. */
function proofOfRelease(
  register: Register,
  block: Block,
  byDemand: boolean,
): 'word' | 'no record' | undefined {
  const isDraining = block.phase === 'Draining';
  const report = register.reports.get(block.nodeName);
  if (report !== undefined && report.nodeUid === block.nodeUid) {
    if (!gaveBack(report, block)) return undefined;
    if (isDraining) return 'word';
    return byDemand && hasSibling(register, block, report) ? 'word' : undefined;
  }
  if (!isDraining) return undefined;
  const records = allHoldings(register.holdingsOf(block.nodeName));
  return records.some((held) => held.overlaps(block.prefix)) ? undefined : 'no record';
}

/** A node always has a block of a family: when it gives all of them back, the oldest stays. */
function hasSibling(register: Register, block: Block, report: NodeReport): boolean {
  const active = register
    .blocksOf(block.nodeName)
    .filter(({ phase, prefix }) => phase === 'Active' && prefix.family === block.prefix.family);
  return block !== (active.find((other) => !gaveBack(report, other)) ?? active[0]);
}

/**
 * A guard goes when no node holds a block of another size in its cell. Asked of
 * the claims, not of the guard's own list: the list may lack a block that moved
 * in later. A node that holds exactly the cell is waiting for the guard to go.
 */
function guardStep(register: Register, guard: Block): BlockStep {
  const listed = guard.guards.flatMap((text) => parsePrefix(text) ?? []);
  const { prefix } = guard;
  const size = register.poolSet.containing(prefix)?.blockSize[prefix.family];
  // Not a cell, but the name of a rival: of use while the block that took it is there.
  if (size !== undefined && size !== prefix.length) return { kind: 'free', unlessExists: listed };
  const isNeeded = register.claims
    .overlapping(guard.prefix)
    .some(({ prefix, owner }) => owner.startsWith('node/') && !prefix.equals(guard.prefix));
  if (isNeeded) return { kind: 'stay' };
  return { kind: 'free', unlessExists: listed };
}
