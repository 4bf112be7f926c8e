import { addToGroup } from '../../base/add-to-group.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { Reason } from '../../model/reasons.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { type HoldingSource, readHoldings, trustedHoldings } from '../blocks/holdings.ts';
import { hostScopeSources } from '../blocks/host-scope.ts';

/**
 * A node's blocks, from the one source of truth that its mode has. Pod
 * addresses, kernel routes and announcements are all derived from what this
 * file says, on every node alike.
 *
 * - `register` (ip-pool and the cluster-pool modes): the NodeBlocks that name the
 *   node *and its uid*. A block of an earlier node of the same name is not this
 *   node's; the operator gives it back to it, or lets it cool down.
 * - `node` (mode kubernetes): Node.spec.podCIDRs, and a family that is missing
 *   there from the annotation, the new name before the old one.
 */
export type TruthSource = 'register' | 'node';

export interface OwnedBlock {
  readonly prefix: Prefix;
  /** Its pods stay and are reachable; it gives out nothing new. */
  readonly isDraining: boolean;
  /** Empty in mode kubernetes. */
  readonly pool: string;
  /** The NodeBlock's; empty in mode kubernetes. A release must name it. */
  readonly uid: string;
}

/** Whether the node holds what it needs to serve pods, or why it does not. */
export type NodeTruth =
  | { readonly kind: 'blocks'; readonly blocks: readonly OwnedBlock[] }
  | {
      readonly kind: 'incomplete';
      /** What there is already: routed and announced, because pods may live there. */
      readonly blocks: readonly OwnedBlock[];
      readonly missing: readonly Family[];
      readonly reason: Reason;
      readonly detail: string;
    };

export interface TruthRules {
  readonly source: TruthSource;
  /** The families that every pod is to have; `auto`: what the node holds. */
  readonly families: ReadonlySet<Family> | 'auto';
}

type Owner = Pick<ClusterNode, 'name' | 'uid'>;

/** Is the node the holder of this entry of the register, right now? */
export function ownsBlock(node: Owner, block: Block): boolean {
  if (block.nodeName !== node.name || block.nodeUid !== node.uid || node.uid === '') return false;
  return block.phase === 'Active' || block.phase === 'Draining';
}

/** All blocks of one node, sorted; `blocks` may be the whole register or a part that has them. */
export function ownedBlocks(
  source: TruthSource,
  node: ClusterNode,
  blocks: Iterable<Block>,
): OwnedBlock[] {
  const owned = source === 'register' ? fromRegister(node, blocks) : fromNode(node);
  return owned.sort((a, b) => a.prefix.compare(b.prefix));
}

/** The blocks of every node, each block looked at once; nodes without blocks are left out. */
export function ownedBlocksByNode(
  source: TruthSource,
  nodes: Iterable<ClusterNode>,
  blocks: Iterable<Block>,
): Map<string, OwnedBlock[]> {
  const byNode = new Map<string, Block[]>();
  if (source === 'register') {
    for (const block of blocks) {
      addToGroup(byNode, block.nodeName, block);
    }
  }
  const owned = new Map<string, OwnedBlock[]>();
  for (const node of nodes) {
    const own = ownedBlocks(source, node, byNode.get(node.name) ?? []);
    if (own.length > 0) owned.set(node.name, own);
  }
  return owned;
}

export function nodeTruth(
  { source, families: wanted }: TruthRules,
  node: ClusterNode,
  blocks: Iterable<Block>,
): NodeTruth {
  const owned = ownedBlocks(source, node, blocks);
  // A family whose blocks all drain can keep its pods but not take a new one.
  const served = families.filter((family) =>
    owned.some((block) => block.prefix.family === family && !block.isDraining),
  );
  const missing =
    wanted === 'auto'
      ? served.length > 0
        ? []
        : [...families]
      : families.filter((family) => wanted.has(family) && !served.includes(family));
  if (missing.length === 0) return { kind: 'blocks', blocks: owned };
  return {
    kind: 'incomplete',
    blocks: owned,
    missing,
    ...whyMissing(source, node, missing, wanted),
  };
}

function fromRegister(node: Owner, blocks: Iterable<Block>): OwnedBlock[] {
  const owned: OwnedBlock[] = [];
  for (const block of blocks) {
    if (!ownsBlock(node, block)) continue;
    const { prefix, pool, uid } = block;
    owned.push({ prefix, pool, uid, isDraining: block.phase === 'Draining' || block.deleting });
  }
  return owned;
}

function fromNode(node: ClusterNode): OwnedBlock[] {
  const sources: readonly HoldingSource[] = hostScopeSources;
  const holdings = readHoldings(node, undefined, sources);
  return families.flatMap((family) =>
    trustedHoldings(holdings, family).map((prefix) => ({
      prefix,
      isDraining: false,
      pool: '',
      uid: '',
    })),
  );
}

function whyMissing(
  source: TruthSource,
  node: ClusterNode,
  missing: readonly Family[],
  wanted: TruthRules['families'],
): { reason: Reason; detail: string } {
  const what = wanted === 'auto' ? 'block' : `${missing.join(' and ')} block`;
  if (source === 'node') {
    const detail = `${node.name} has no ${what} in Node.spec.podCIDRs or its annotations, and mode kubernetes allocates none`;
    return { reason: 'NoBlockRecorded', detail };
  }
  // The operator knows better than we do, and says so on the Node.
  const { condition } = node;
  if (condition?.status === 'False' && condition.reason !== '') {
    const detail = `the operator could not serve ${node.name}: ${condition.message}`;
    return { reason: condition.reason as Reason, detail };
  }
  const detail = `no NodeBlock gives ${node.name} (uid ${node.uid}) a ${what} yet`;
  return { reason: 'WaitingForBlocks', detail };
}
