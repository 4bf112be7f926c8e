import { addToGroup } from '../../base/add-to-group.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Family } from '../../net/family.ts';
import { families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { ClaimLimits } from '../blocks/claim-limits.ts';
import { readHoldings } from '../blocks/holdings.ts';
import { type NodeClaims, nodeClaims } from '../blocks/node-claims.ts';
import { findTruth, isHolder, type Truth, trueBlocks } from '../blocks/truth.ts';
import type { CiliumAnnouncing } from '../cilium/announces.ts';
import { compareText } from '../pools/pool-set.ts';
import { servingPools } from '../pools/serving-pools.ts';
import {
  type AnnouncedBy,
  type AnnouncedPrefix,
  announcedRecord,
  announcementsOf,
} from './announced.ts';
import type { Evidence, RouterTable } from './evidence.ts';
import { canonicalAddress, NextHops } from './next-hops.ts';
import { type NodeRecords, nodeRecords } from './records.ts';
import { announcedTable, type RouteView, viewTable } from './route-view.ts';
import { unaskedRouters } from './unasked-routers.ts';

/**
 * The evidence, put in order once: who owns what, who announces what, which
 * router has what by whom. Findings and what-ifs only look things up in it, so
 * asking "what if" for each of five thousand nodes is one survey and five
 * thousand small questions. Everything is sorted by name, so that the order in
 * which evidence came changes nothing.
 */
export interface Survey {
  evidence: Evidence;
  truth: Truth;
  /** What one node may claim of the pools, where Cadastre gives out the blocks. */
  limits: ClaimLimits;
  announcedBy: AnnouncedBy;
  /** By name, sorted. */
  nodes: ReadonlyMap<string, SurveyedNode>;
  /** Every block of every live node, by its text; more than one owner is a finding. */
  owners: ReadonlyMap<string, SurveyedBlock[]>;
  blocks: readonly SurveyedBlock[];
  /** The same blocks by where they lie; the owner is the index in `blocks`. */
  claims: ClaimIndex<number>;
  nextHops: NextHops;
  /** What the routers hold; where none was seen, what is announced, as if it were one. */
  views: readonly RouteView[];
  /** Routers that are known and could not be asked: what they hold is not judged. */
  unseenRouters: readonly string[];
  /** Routers that nobody asked. */
  unaskedRouters: readonly string[];
  pools: readonly Pool[];
  /** The CIDRs of the pools; undefined where no pool is known. */
  poolSpace: PrefixSet | undefined;
  /** Nodes that are down: not Ready, and no router has a way to them. They own nothing now. */
  down: ReadonlySet<string>;
  /** Prefixes that records name without a live owner: by text, the name of who had it. */
  former: ReadonlyMap<string, string>;
}

export interface SurveyedNode {
  node: ClusterNode;
  cilium: CiliumNode | undefined;
  report: WitnessReport | undefined;
  registered: readonly Block[];
  /** What each record says the node has. */
  records: NodeRecords;
  blocks: readonly SurveyedBlock[];
  /** What it claims beside its NodeBlocks, and what of that is more than one node may. */
  claims: NodeClaims;
  /** undefined: not known. */
  announces: readonly AnnouncedPrefix[] | undefined;
  /** What Cilium's BGP objects tell its agent there to announce, where they are what counts. */
  byCilium: CiliumAnnouncing | undefined;
}

export interface SurveyedBlock {
  prefix: Prefix;
  key: string;
  node: string;
}

export function survey(evidence: Evidence): Survey {
  const truth = findTruth(evidence);
  const announcedBy = announcedRecord(evidence, truth);
  const ciliumNodes = byName(evidence.ciliumNodes);
  const reports = byName(evidence.reports);
  const registered = new Map<string, Block[]>();
  for (const block of sorted(evidence.blocks)) {
    addToGroup(registered, block.nodeName, block);
  }
  const nextHops = new NextHops(evidence);
  const routers = routerViews(evidence, nextHops);
  const isFree = (prefix: Prefix) =>
    !evidence.blocks.some((block) => block.nodeName !== '' && block.prefix.overlaps(prefix));
  const down = new Set<string>();
  const nodes = new Map<string, SurveyedNode>();
  const blocks: SurveyedBlock[] = [];
  const owners = new Map<string, SurveyedBlock[]>();
  const claims = new ClaimIndex<number>();
  const pools = servingPools(evidence, truth.mode);
  const limits = limitsOf(truth, pools);
  for (const node of sorted(evidence.nodes)) {
    const { name } = node;
    if (isDown(node, routers)) {
      down.add(name);
      continue;
    }
    const cilium = ciliumNodes.get(name);
    const report = witness(reports.get(name), node);
    const held = registered.get(name) ?? [];
    const holdings = readHoldings(node, cilium, truth.sources, report);
    const claimed = nodeClaims(limits, {
      node,
      blocks: held,
      pending: [],
      holdings,
      formerUses: [],
    });
    const inVain = new Set(claimed.refused.map(({ prefix }) => prefix.toString()));
    const own = trueBlocks(truth, node, cilium, held, report, isFree)
      .filter((prefix) => !inVain.has(prefix.toString()))
      .sort((a, b) => a.compare(b))
      .map((prefix): SurveyedBlock => ({ prefix, key: prefix.toString(), node: name }));
    for (const block of own) {
      claims.record(block.prefix, blocks.push(block) - 1);
      addToGroup(owners, block.key, block);
    }
    const byCilium = speaksOurs(report)
      ? undefined
      : announcedBy.kind === 'objects'
        ? announcedBy.announcers.of({ name, labels: node.labels, cilium })
        : undefined;
    nodes.set(name, {
      node,
      cilium,
      report,
      registered: held,
      records: nodeRecords(evidence, node, cilium, report, held),
      blocks: own,
      claims: claimed,
      announces: announcementsOf(announcedBy, node, cilium, report, byCilium),
      byCilium,
    });
  }
  return {
    evidence,
    truth,
    limits,
    announcedBy,
    nodes,
    nextHops,
    down,
    owners,
    blocks,
    claims,
    views: withAnnouncements(routers, nodes),
    unseenRouters: evidence.routers
      .filter((table) => !hasAnswered(table))
      .map(({ router }) => router)
      .sort(),
    unaskedRouters: unaskedRouters(evidence),
    pools,
    poolSpace: pools.length === 0 ? undefined : PrefixSet.of(pools.flatMap(({ cidrs }) => cidrs)),
    former: formerHolders(evidence, nodes),
  };
}

/** Where others give out the blocks, their word is the truth, whatever its size. */
function limitsOf({ mode, record }: Truth, pools: readonly Pool[]): ClaimLimits {
  const limits = new ClaimLimits(mode.byDemand);
  if (record === 'register') for (const pool of pools) limits.put(pool);
  return limits;
}

/** A report of an earlier node of the same name is no witness for this one. */
function witness(report: WitnessReport | undefined, node: ClusterNode): WitnessReport | undefined {
  if (report === undefined || report.nodeUid === node.uid) return report;
  return report.nodeUid === '' || node.uid === '' ? report : undefined;
}

/** An agent of ours has sessions there: then it announces, and nobody else. */
function speaksOurs(report: WitnessReport | undefined): boolean {
  return (report?.status?.sessions?.length ?? 0) > 0;
}

function routerViews(evidence: Evidence, nextHops: NextHops): RouteView[] {
  return evidence.routers
    .filter(hasAnswered)
    .sort((a, b) => compareText(a.router, b.router))
    .map((table) => viewTable(table, nextHops));
}

function hasAnswered({ families: answered, routes }: RouterTable): boolean {
  return answered.size > 0 || routes.length > 0;
}

/**
 * A kubelet that is silent may well have pods that serve; a router that still has a way there
 * knows. One whose table is still on its way does not.
 */
function isDown(node: ClusterNode, routers: readonly RouteView[]): boolean {
  const isKnown = routers.some(({ families: complete }) => complete.size > 0);
  if (node.isNotReady !== true || !isKnown) return false;
  return !routers.some(({ via }) => via.has(node.name));
}

/** Per family: routers if any showed that family, else the announcements. */
function withAnnouncements(
  routers: readonly RouteView[],
  nodes: ReadonlyMap<string, SurveyedNode>,
): readonly RouteView[] {
  const unseen = families.filter((family) => !routers.some((view) => view.families.has(family)));
  const isKnown = [...nodes.values()].some(({ announces }) => (announces?.length ?? 0) > 0);
  if (unseen.length === 0 || !isKnown) return routers;
  return [...routers, announcedTable(nodes, new Set<Family>(unseen))];
}

function formerHolders(
  { ciliumNodes, blocks }: Evidence,
  nodes: ReadonlyMap<string, SurveyedNode>,
): Map<string, string> {
  const former = new Map<string, string>();
  for (const { name, podCidrs, poolCidrs } of sorted(ciliumNodes)) {
    if (nodes.has(name)) continue;
    for (const text of [...podCidrs, ...(poolCidrs ?? [])]) former.set(text, name);
  }
  for (const block of sorted(blocks)) {
    const node = nodes.get(block.nodeName)?.node;
    if (block.nodeName === '' || (node !== undefined && isHolder(node, block))) continue;
    former.set(block.prefix.toString(), block.nodeName);
  }
  return former;
}

function sorted<T extends { name: string }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => compareText(a.name, b.name));
}

function byName<T extends { name: string }>(all: readonly T[]): Map<string, T> {
  return new Map(all.map((one) => [one.name, one]));
}

/** Is this an address that the node itself has? */
export function isAddressOf({ node }: SurveyedNode, address: string): boolean {
  return node.addresses.some((own) => canonicalAddress(own) === address);
}
