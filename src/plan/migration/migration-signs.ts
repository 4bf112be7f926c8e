import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeMigration } from '../../model/node-migration.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { ownsBlock } from '../node/node-truth.ts';

/** The signs by which a move is seen to have come so far. */
export type Arrival = { kind: 'arrived'; cidrs: string[] } | { kind: 'missing'; why: string };

export function isAnnouncing(report: NodeReport | undefined, node: ClusterNode): boolean {
  return report?.nodeUid === node.uid && (report.announced?.size ?? 0) > 0;
}

/** The blocks it has now, if they are others than before and of every family it had. */
export function newBlocks(
  migration: NodeMigration,
  node: ClusterNode,
  blocks: readonly Block[],
): Arrival {
  const own = blocks.filter((block) => ownsBlock(node, block) && block.phase === 'Active');
  const old = own.filter(({ prefix }) => isNamed(migration.from, prefix.toString()));
  if (old.length > 0) {
    const why = `it was given ${old.map(({ prefix }) => `${prefix}`).join(', ')} again: the pools still say so`;
    return { kind: 'missing', why };
  }
  const had = families.filter((family) =>
    migration.from.some((text) => parsePrefix(text)?.family === family),
  );
  const lacks = had.filter((family) => !own.some(({ prefix }) => prefix.family === family));
  if (own.length === 0 || lacks.length > 0) return { kind: 'missing', why: waitingFor(node) };
  return { kind: 'arrived', cidrs: own.map(({ prefix }) => prefix.toString()) };
}

/** After the way back: registered as before, or refused as before. */
export function isBackWithOldBlocks(
  migration: NodeMigration,
  node: ClusterNode,
  blocks: readonly Block[],
): Arrival {
  // What drains beside them is being left: it goes when nobody uses it.
  const own = blocks.filter((block) => ownsBlock(node, block) && block.phase !== 'Draining');
  const cidrs = own.map(({ prefix }) => prefix.toString());
  const strange = cidrs.filter((cidr) => !isNamed(migration.from, cidr));
  if (strange.length > 0) {
    return { kind: 'missing', why: `it still has ${strange.join(', ')}` };
  }
  // A block that lies in no pool was never registered; the operator says so on the Node.
  if (cidrs.length === 0 && node.condition?.status !== 'False') {
    return { kind: 'missing', why: waitingFor(node) };
  }
  return { kind: 'arrived', cidrs };
}

/** Records other than Node.spec (which nobody can change) that name one of the blocks. */
export function recordsNaming(
  cidrs: readonly string[],
  node: ClusterNode,
  ciliumPodCidrs: readonly string[],
): string[] {
  const found = Object.entries(node.annotations)
    .filter(([, value]) => isNamed(cidrs, value))
    .map(([key]) => `the annotation ${key}`);
  if (ciliumPodCidrs.some((text) => isNamed(cidrs, text))) found.push('CiliumNode');
  return found;
}

/** Whether a record that an agent of Cilium may read names all of these. */
export function isRecorded(
  node: ClusterNode,
  ciliumPodCidrs: readonly string[],
  blocks: readonly Prefix[],
): boolean {
  const records = [ciliumPodCidrs, node.podCidrs, Object.values(node.annotations)];
  return records.some((named) => blocks.every((block) => isNamed(named, block.toString())));
}

function waitingFor(node: ClusterNode): string {
  const { condition } = node;
  if (condition?.status === 'False') {
    return `the operator cannot serve it: ${condition.reason}: ${condition.message}`;
  }
  return 'the operator has yet to give it a block; is one running?';
}

function isNamed(cidrs: readonly string[], text: string): boolean {
  const prefix = parsePrefix(text);
  return prefix !== undefined && cidrs.some((one) => parsePrefix(one)?.equals(prefix));
}
