import type { CiliumNode } from '../../model/cilium-node.ts';
import { selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { MigrationMethod } from '../../model/node-migration.ts';
import { allocatorReport } from '../../model/node-report.ts';
import type { Reason } from '../../model/reasons.ts';
import { families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { asWritten } from '../blocks/cut.ts';
import { decideNode, type NodeDecision, type Rules } from '../blocks/decide-node.ts';
import type { Finding } from '../blocks/finding.ts';
import {
  type HoldingSource,
  holdingSources,
  sourceNames,
  trustedHoldings,
} from '../blocks/holdings.ts';
import type { Register } from '../blocks/register.ts';
import { compareText } from '../pools/pool-set.ts';

/**
 * From what nodes hold today to what the pools say, node by node. What lies in a
 * pool that selects its node is adopted as it is and nobody notices. A node whose
 * block lies elsewhere, or is another's too, must move: its pods go, it gets a new
 * block, its pods come back. One node at a time, each from a state that could last
 * for ever to another that could.
 *
 * The register is changed as if all of it had been done.
 */
export interface MigrationPlan {
  /** Which allocators' records were found. */
  from: HoldingSource[];
  /** Registered already, in a pool that selects the node. */
  stay: NodeBlocks[];
  /** Taken over as they are when the operator starts. */
  adopt: NodeBlocks[];
  /** Have none yet and get one. */
  fresh: NodeBlocks[];
  /** In the order in which they should move. */
  moves: NodeMove[];
  /** Cannot be served as the pools are. */
  refused: Array<{ node: string; from: string[]; reason: Reason; detail: string }>;
  findings: Finding[];
}

export interface NodeBlocks {
  node: string;
  blocks: Array<{ cidr: string; pool: string; source?: string }>;
}

export interface NodeMove {
  node: string;
  from: string[];
  to: Array<{ cidr: string; pool: string }>;
  reason: Reason;
  detail: string;
  method: MigrationMethod;
  /** It takes another block only when it is started again. */
  hasCiliumAgent: boolean;
  /** Must have moved, and their old blocks must have cooled, before this one finds room. */
  after: string[];
  blast: BlastRadius;
}

export interface BlastRadius {
  /** Pods in the blocks that go, by the node's own report; absent when nobody said. */
  pods?: number;
  withdrawn: string[];
  announced: string[];
  /** Others whose blocks this node's records name: while it is away their traffic may be lost. */
  others: Array<{ node: string; cidr: string; record: string }>;
}

interface Mover {
  node: ClusterNode;
  from: Prefix[];
  reason: Reason;
  detail: string;
  method: MigrationMethod;
  hasCiliumAgent: boolean;
  blast: BlastRadius;
}

export function planMigration(
  register: Register,
  order: readonly string[],
  rules: Rules,
): MigrationPlan {
  const nodes = order
    .flatMap((name) => register.nodes.get(name) ?? [])
    .sort((a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name));
  const plan: MigrationPlan = {
    from: sourcesOf(register, nodes),
    stay: [],
    adopt: [],
    fresh: [],
    moves: [],
    refused: [],
    findings: [],
  };
  const usedBy = usedBlocks(register, nodes);
  const first = new Map<string, NodeDecision>();
  for (const node of nodes) {
    const decision = decideNode(register, node, rules);
    first.set(node.name, decision);
    for (const cut of decision.adopt) register.putBlock(asWritten(node, cut));
  }
  const movers: Mover[] = [];
  const newcomers: ClusterNode[] = [];
  for (const node of nodes) {
    const before = first.get(node.name) as NodeDecision;
    const mover = mustMove(register, node, before, usedBy);
    for (const finding of before.findings) plan.findings.push(finding);
    if (mover !== undefined) movers.push(mover);
    else if (before.adopt.length > 0) plan.adopt.push(adopted(register, node, before));
    else if (before.keep.length + before.rebind.length > 0) {
      plan.stay.push(blocksOf(node, [...before.keep, ...before.rebind]));
    } else newcomers.push(node);
  }
  // Nodes without a block are served at once, when the operator starts: before anybody moves.
  for (const node of newcomers) {
    const { assign, refused } = decideNode(register, node, rules);
    for (const cut of assign) register.putBlock(asWritten(node, cut));
    const [why] = refused;
    if (why === undefined) plan.fresh.push(blocksOf(node, assign));
    else plan.refused.push({ node: node.name, from: [], ...reasonOf(why) });
  }
  arrange(register, movers.sort(byUrgency), rules, plan);
  return plan;
}

/** Moves as far as there is room; what has cooled makes room for those who found none. */
function arrange(register: Register, movers: Mover[], rules: Rules, plan: MigrationPlan): void {
  let left = movers;
  const cooling: Array<{ node: string; block: Block }> = [];
  const cooled: Array<{ node: string; prefix: Prefix }> = [];
  while (left.length > 0) {
    const waiting: Mover[] = [];
    for (const mover of left) {
      const { node } = mover;
      const own = register.blocksOf(node.name);
      const cilium = leave(register, mover, own);
      const { assign, rebind, refused } = decideNode(register, arriving(node), rules);
      const to = [...rebind, ...assign];
      // One that cooled already, from an earlier move, is another block; what it leaves now is not.
      const returning = own.filter(
        ({ phase, uid }) => phase === 'Cooling' && rebind.some((block) => block.uid === uid),
      );
      if (refused.length > 0 || assign.length + returning.length === 0) {
        comeBack(register, mover, own, cilium);
        waiting.push(mover);
        continue;
      }
      for (const cut of assign) register.putBlock(asWritten(arriving(node), cut));
      for (const block of own) {
        if (!returning.includes(block)) cooling.push({ node: node.name, block });
      }
      const { from, reason, detail, method, hasCiliumAgent } = mover;
      const blocks = blocksOf(node, to).blocks;
      plan.moves.push({
        node: node.name,
        from: from.map(String),
        to: blocks,
        reason,
        detail,
        method,
        hasCiliumAgent,
        after: cooled
          .filter((freed) => to.some(({ prefix }) => prefix.overlaps(freed.prefix)))
          .map((freed) => freed.node),
        blast: { ...mover.blast, announced: blocks.map(({ cidr }) => cidr) },
      });
    }
    if (cooling.length === 0 || waiting.length === 0) {
      for (const mover of waiting) refuse(register, mover, rules, plan);
      return;
    }
    for (const { node, block } of cooling.splice(0)) {
      cooled.push({ node, prefix: block.prefix });
      register.removeBlock(block.name);
    }
    left = waiting;
  }
}

/** The node as it is once it has moved: of no record, and of another uid if it was re-created. */
function arriving(node: ClusterNode): ClusterNode {
  return { ...node, uid: `${node.uid}+`, podCidrs: [], annotations: {} };
}

function leave(register: Register, { node }: Mover, own: readonly Block[]): CiliumNode | undefined {
  const cilium = register.ciliumNodes.get(node.name);
  for (const block of own) register.putBlock({ ...block, phase: 'Cooling' });
  register.removeCiliumNode(node.name);
  register.putNode(arriving(node));
  return cilium;
}

function comeBack(
  register: Register,
  { node }: Mover,
  own: readonly Block[],
  cilium: CiliumNode | undefined,
): void {
  for (const block of own) register.putBlock(block);
  register.putNode(node);
  if (cilium !== undefined) register.putCiliumNode(cilium);
}

function refuse(register: Register, mover: Mover, rules: Rules, plan: MigrationPlan): void {
  const { node, from } = mover;
  const own = register.blocksOf(node.name);
  const cilium = leave(register, mover, own);
  const [why] = decideNode(register, arriving(node), rules).refused;
  comeBack(register, mover, own, cilium);
  const { reason, detail } = why === undefined ? mover : reasonOf(why);
  const words = `${mover.detail}; and there is no other block for it: ${detail}`;
  plan.refused.push({ node: node.name, from: from.map(String), reason, detail: words });
}

function mustMove(
  register: Register,
  node: ClusterNode,
  decision: NodeDecision,
  usedBy: ReadonlyMap<string, string>,
): Mover | undefined {
  const standing = [...decision.keep, ...decision.rebind, ...decision.adopt];
  const held = decision.refused.some(({ reason }) => isAboutHoldings(reason))
    ? families.flatMap((family) => trustedHoldings(register.holdingsOf(node.name), family))
    : [];
  const from = uniquePrefixes([...standing.map(({ prefix }) => prefix), ...held]);
  if (from.length === 0) return undefined;
  const wrong = decision.refused.find(
    ({ reason }) => isAboutHoldings(reason) && reason !== 'AdoptionIncomplete',
  );
  const strange = standing.find((block) => {
    const pool = register.poolSet.homeOf(block);
    return pool === undefined || !selects(pool.selector, node.labels);
  });
  const why =
    wrong !== undefined
      ? reasonOf(wrong)
      : strange === undefined
        ? undefined
        : whyStrange(register, node, strange);
  if (why === undefined) return undefined;
  const report = allocatorReport(register.reports.get(node.name));
  const hasAgent = report !== undefined && report.nodeUid === node.uid;
  const isRegistered = decision.keep.length + decision.rebind.length > 0 && held.length === 0;
  const hasCiliumAgent = (register.ciliumNodes.get(node.name)?.internalIps ?? []).length > 0;
  // Somebody must be there to say that the old block is empty; and Node.spec never changes.
  const canStay = (hasAgent || hasCiliumAgent) && isRegistered && node.podCidrs.length === 0;
  const method = canStay ? 'release' : 'recreate';
  const blast: BlastRadius = {
    ...(hasAgent && report.pods !== undefined ? { pods: report.pods } : {}),
    withdrawn: from.map(String),
    announced: [],
    others: othersNamed(register, node, usedBy),
  };
  return { node, from, ...why, method, hasCiliumAgent, blast };
}

function whyStrange(
  register: Register,
  node: ClusterNode,
  block: { prefix: Prefix; pool: string },
): { reason: Reason; detail: string } {
  const pool = register.poolSet.homeOf(block);
  if (pool === undefined) {
    return { reason: 'OutsidePools', detail: `${block.prefix} of ${node.name} lies in no pool` };
  }
  const detail = `${block.prefix} of ${node.name} lies in pool ${pool.name}, which does not select it`;
  return { reason: 'PoolNoLongerSelects', detail };
}

const clashReasons: readonly Reason[] = [
  'DuplicateBlock',
  'OverlappingBlocks',
  'RestoredFromBackup',
];
const holdingReasons: readonly Reason[] = [
  ...clashReasons,
  'ClaimRefused',
  'OutsidePools',
  'AdoptionIncomplete',
];
const isAboutHoldings = (reason: Reason) => holdingReasons.includes(reason);

/** Two owners of one block hurt now; the rest is a matter of order. Control planes come last. */
function byUrgency(a: Mover, b: Mover): number {
  const urgency = ({ reason }: Mover) => (clashReasons.includes(reason) ? 0 : 1);
  const rank = ({ node }: Mover) =>
    'node-role.kubernetes.io/control-plane' in node.labels ||
    'node-role.kubernetes.io/master' in node.labels
      ? 1
      : 0;
  return (
    urgency(a) - urgency(b) ||
    rank(a) - rank(b) ||
    a.blast.others.length - b.blast.others.length ||
    compareText(a.node.name, b.node.name)
  );
}

/** By CIDR, the node whose pods live there: the register's word, else the most trusted record. */
function usedBlocks(register: Register, nodes: readonly ClusterNode[]): Map<string, string> {
  const usedBy = new Map<string, string>();
  for (const { name } of nodes) {
    const registered = register.blocksOf(name).map(({ prefix }) => prefix);
    const holdings = register.holdingsOf(name);
    const used =
      registered.length > 0
        ? registered
        : families.flatMap((family) => trustedHoldings(holdings, family));
    // Of two the older one is right.
    for (const prefix of used) {
      if (!usedBy.has(prefix.toString())) usedBy.set(prefix.toString(), name);
    }
  }
  return usedBy;
}

function othersNamed(
  register: Register,
  node: ClusterNode,
  usedBy: ReadonlyMap<string, string>,
): BlastRadius['others'] {
  const found: BlastRadius['others'] = [];
  for (const [source, held] of register.holdingsOf(node.name).bySource) {
    for (const prefix of [...held.ipv4, ...held.ipv6]) {
      const owner = usedBy.get(prefix.toString());
      if (owner === undefined || owner === node.name) continue;
      found.push({ node: owner, cidr: prefix.toString(), record: sourceNames[source] });
    }
  }
  return found;
}

function sourcesOf(register: Register, nodes: readonly ClusterNode[]): HoldingSource[] {
  const found = new Set<HoldingSource>();
  for (const { name } of nodes) {
    for (const source of register.holdingsOf(name).bySource.keys()) found.add(source);
  }
  return holdingSources.filter((source) => found.has(source));
}

function adopted(register: Register, node: ClusterNode, decision: NodeDecision): NodeBlocks {
  const { bySource } = register.holdingsOf(node.name);
  const kept = [...decision.keep, ...decision.rebind];
  return {
    node: node.name,
    blocks: [
      ...blocksOf(node, kept).blocks,
      ...decision.adopt.map(({ prefix, pool }) => {
        const source = [...bySource].find(([, held]) =>
          held[prefix.family].some((one) => one.equals(prefix)),
        )?.[0];
        return {
          cidr: prefix.toString(),
          pool,
          ...(source === undefined ? {} : { source: sourceNames[source] }),
        };
      }),
    ],
  };
}

function blocksOf(
  node: ClusterNode,
  blocks: ReadonlyArray<{ prefix: Prefix; pool: string }>,
): NodeBlocks {
  return {
    node: node.name,
    blocks: blocks.map(({ prefix, pool }) => ({ cidr: prefix.toString(), pool })),
  };
}

function reasonOf({ reason, detail }: { reason: Reason; detail: string }) {
  return { reason, detail };
}

function uniquePrefixes(all: readonly Prefix[]): Prefix[] {
  return [...new Set(all.map(String))].flatMap((text) => parsePrefix(text) ?? []);
}
