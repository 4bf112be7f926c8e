import { defaultCooldownSeconds } from '../../model/ip-pool.ts';
import { outOfServiceTaint } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Block, recordedAddresses, type WitnessName } from '../../model/node-block.ts';
import { allocatorReport, gaveBack, type NodeReport } from '../../model/node-report.ts';
import type { Reason } from '../../model/reasons.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { AgentUses } from '../cilium/agent-uses.ts';
import { agentIsSilent, agentStillServes } from '../cilium/still-used.ts';
import { unattributedWords, whyUnattributed } from './attribution.ts';
import { allHoldings } from './holdings.ts';
import type { Register } from './register.ts';
import { isOfAnotherMachine, isOfSameMachine } from './same-machine.ts';

/**
 * The end of a block's life. A block is released in steps, so that a crash between
 * them loses nothing: first a cool-down, still registered and still its node's; when
 * that is over, a witness who says that the node does not use the block (witness.ts),
 * written into it; and only then is the object deleted.
 *
 * The cool-down is counted, not dated: `restedSeconds` is what leaders have watched of
 * it, each by its own monotonic clock.
 *
 * What depends on something *not* being there must be confirmed by a fresh read
 * before it is written, because a cache or a list may be stale. `cool` with
 * `nodeGone`: read the Node, take it in, and ask again (one that merely carries a
 * deletionTimestamp is there, and still runs pods). `cool` with `noRecord`: the same
 * with the Node and the CiliumNode, and no pod and no endpoint may have an address in
 * the block: records say what a node is to use, not what it uses. `cool` with `letGo`: the
 * same with the CiliumNode alone, from which Cilium's agent has dropped the block. In the same way a guard is freed only if the
 * API server itself says that none of `unlessExists` exists: a leader that has
 * seen the guard need not have seen the block behind it.
 */
export type BlockStep =
  | { kind: 'stay' }
  /** What is recorded of the node or its pool has changed, and nothing else. */
  | { kind: 'record' }
  /** A witness for a block that its node still holds, or the end of one (null). */
  | { kind: 'witness'; by: WitnessName | null; detail: string }
  | { kind: 'cool'; reason: Reason; nodeGone: boolean; noRecord: boolean; letGo?: true }
  /** No record names it, but the node's agent of Cilium serves from it. */
  | { kind: 'used'; why: string }
  /** Its node gave it back, by a report that another node's agent may have written. */
  | { kind: 'doubt'; why: string }
  /** Its machine is there again, with another block: it drains until nobody there uses it. */
  | { kind: 'drain'; node: ClusterNode }
  | { kind: 'rest'; seconds: number }
  /** It has rested; nobody has said yet that its node does not use it. */
  | { kind: 'await' }
  /** Released by time alone: used after all other free blocks of its pool. */
  | { kind: 'keep for last'; seconds: number }
  | { kind: 'free'; unlessExists: Prefix[] };

/** For so long a block that was released by time alone is used after all others. */
export const keptForLastSeconds = 7 * 86_400;

export function decideBlock(
  register: Register,
  block: Block,
  restedSeconds: number,
  byDemand: boolean,
): BlockStep {
  if (block.deleting) return { kind: 'stay' };
  if (block.phase === 'Guard') return guardStep(register, block);
  if (block.phase === 'Cooling') return coolingStep(register, block, restedSeconds);
  const node = register.nodes.get(block.nodeName);
  if (node === undefined || isOfAnotherMachine(node, block)) {
    return { kind: 'cool', reason: 'Cooling', nodeGone: true, noRecord: false };
  }
  if (node.uid !== block.nodeUid) return { kind: 'stay' };
  const proof = proofOfRelease(register, block, byDemand);
  if (proof?.kind === 'doubt' || proof?.kind === 'used') return proof;
  if (proof !== undefined) {
    const noRecord = proof.kind === 'no record';
    const letGo = proof.kind === 'let go' ? { letGo: true as const } : {};
    return { kind: 'cool', reason: 'Released', nodeGone: false, noRecord, ...letGo };
  }
  return (
    outOfService(node, block) ?? (isRecordDue(register, node, block) ? { kind: 'record' } : stay)
  );
}

const stay: BlockStep = { kind: 'stay' };

export function cooldownOf(register: Register, block: Block): number {
  return register.poolSet.homeOf(block)?.cooldownSeconds ?? defaultCooldownSeconds;
}

/** Whether its cool-down is over, as far as leaders have written it down, and it has no witness. */
export function isAwaitingRelease(
  { phase, released, restedSeconds }: Block,
  cooldownSeconds: number,
): boolean {
  if (phase !== 'Cooling' || released !== undefined) return false;
  return restedSeconds !== undefined && restedSeconds >= cooldownSeconds;
}

function coolingStep(register: Register, block: Block, restedSeconds: number): BlockStep {
  const back = backWithAnother(register, block);
  if (back !== undefined) return { kind: 'drain', node: back };
  const leftSeconds = cooldownOf(register, block) - restedSeconds;
  if (leftSeconds > 0) return { kind: 'rest', seconds: leftSeconds };
  if (block.released === undefined) return { kind: 'await' };
  const isLast = isReleasedByTime(block) && register.poolSet.homeOf(block)?.deleting === false;
  if (isLast && restedSeconds < keptForLastSeconds) {
    return { kind: 'keep for last', seconds: keptForLastSeconds - restedSeconds };
  }
  return { kind: 'free', unlessExists: [] };
}

/**
 * A block cools because its Node was gone. If the machine is there again, as another Node of
 * the name that has a block of its own by now, then whether this one is still in use can be
 * seen, as with any block that a live node is to leave: it drains, and cools with the evidence.
 */
function backWithAnother(register: Register, block: Block): ClusterNode | undefined {
  const node = register.nodes.get(block.nodeName);
  if (node === undefined || node.uid === block.nodeUid || block.released !== undefined) return;
  if (!isOfSameMachine(node, block)) return undefined;
  const { family } = block.prefix;
  const hasAnother = register
    .blocksOf(node.name)
    .some(
      ({ phase, nodeUid, prefix }) =>
        phase === 'Active' && nodeUid === node.uid && prefix.family === family,
    );
  return hasAnother ? node : undefined;
}

export function isReleasedByTime({ phase, released }: Block): boolean {
  return phase === 'Cooling' && released?.by === 'Time';
}

/**
 * The out-of-service taint is a person's word that the machine is off, for as long as
 * it is there. The word of `cadastre blocks release` ends when the kubelet is heard again.
 */
function outOfService(node: ClusterNode, block: Block): BlockStep | undefined {
  const by = block.released?.by;
  if (node.isOutOfService) {
    if (by !== undefined) return undefined;
    const detail = `Node ${node.name} carries the taint ${outOfServiceTaint}`;
    return { kind: 'witness', by: 'OutOfService', detail };
  }
  const isOver = by === 'OutOfService' || (by === 'Administrator' && node.isNotReady !== true);
  if (!isOver) return undefined;
  return { kind: 'witness', by: null, detail: `Node ${node.name} is in service` };
}

/** Whether the block should know other addresses of its node, or another policy of its pool. */
function isRecordDue(register: Register, node: ClusterNode, block: Block): boolean {
  const pool = register.poolSet.homeOf(block);
  if (pool !== undefined && pool.releaseByTimeSeconds !== block.releaseByTimeSeconds) return true;
  if (node.addresses.length === 0) return false;
  return recordedAddresses(node).join() !== (block.nodeAddresses ?? []).join();
}

/** What says that a live node has emptied the block: its agent's word, or that nothing knows of it. */
function proofOfRelease(
  register: Register,
  block: Block,
  byDemand: boolean,
): { kind: 'word' | 'no record' | 'let go' } | { kind: 'doubt' | 'used'; why: string } | undefined {
  if (register.hasLetGo(block)) return { kind: 'let go' };
  const isDraining = block.phase === 'Draining';
  const report = register.reports.get(block.nodeName);
  const doubt = whyUnattributed(register.attribution, report);
  const allocator = allocatorReport(report);
  if (allocator !== undefined && allocator.nodeUid === block.nodeUid) {
    if (!gaveBack(allocator, block)) return undefined;
    if (!isDraining && !(byDemand && hasSibling(register, block, allocator))) return undefined;
    // Addresses may come from us and pods live under Cilium: its agent has the last word.
    const used = whyUsed(register, block);
    if (used !== undefined) return { kind: 'used', why: used };
    if (doubt === undefined) return { kind: 'word' };
    return { kind: 'doubt', why: unattributedWords(block.nodeName, 'it gave it back', doubt) };
  }
  // Whoever can write a report can also make it one of another Node.
  if (!isDraining || doubt !== undefined) return undefined;
  const records = allHoldings(register.holdingsOf(block.nodeName));
  const isRecorded = records.some((held) => held.overlaps(block.prefix));
  if (isRecorded) return undefined;
  const cilium = register.ciliumNodes.get(block.nodeName);
  const why = whyUsed(register, block) ?? agentIsSilent(cilium);
  return why === undefined ? { kind: 'no record' } : { kind: 'used', why };
}

/** The agent's own address tells which block it serves from, whatever others say by now. */
function whyUsed(register: Register, { nodeName, prefix }: Block): string | undefined {
  const cilium = register.ciliumNodes.get(nodeName);
  if (cilium === undefined) return undefined;
  return agentStillServes(new AgentUses({ nodes: [], ciliumNodes: [cilium] }).of(nodeName), prefix);
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
