import type { CiliumNode } from '../../model/cilium-node.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { NamedNetwork } from '../../model/network.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import type { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { PoolSet } from '../pools/pool-set.ts';
import { type Attribution, believeAll } from './attribution.ts';
import { BlockLists } from './block-lists.ts';
import { ClaimLimits } from './claim-limits.ts';
import { ClaimSets } from './claim-sets.ts';
import { type HoldingSource, type Holdings, noHoldings, readHoldings } from './holdings.ts';
import { LetGoBlocks } from './let-go.ts';
import { type NodeClaims, nodeClaims } from './node-claims.ts';
import { claimSame, usesOfFormer } from './report-uses.ts';

/**
 * The register in memory: who holds which piece of address space, as far as this
 * process knows. It is a pure function of the objects put into it plus the
 * reservations of writes under way, so a restart is a replay: rebuilt from the
 * API it equals what it was (a property test holds it to that).
 *
 * It may be wrong. A cache lags, another leader writes at the same time. The
 * register decides what to *try*; the API server, which refuses a second object
 * of one name, decides what *is*. So nothing here needs to be locked, and a
 * conflict only means: put in what was learned, and decide again.
 *
 * Everything that occupies addresses is a claim with an owner, in one interval index
 * over all pools, sizes and families:
 *
 *   node/N      blocks of node N, what N holds without being registered, and
 *               what is being written for N
 *   shadow/N    what less trusted records say N holds, and what the report of a
 *               former Node of that name uses; nobody else is given it, but its
 *               true owner may adopt it
 *   pooled/N    what Cilium's multi-pool gave N: nothing is cut over it, for nobody
 *   guard/NAME  a cell that odd-sized blocks lie in
 *   pool/P      what pool P reserves of its own CIDRs, as long as P may serve
 *   address/N   node N's own address, where it lies in a pool
 *
 * What a node claims beyond what one node may (claim-limits.ts) is no claim: it is in
 * `refused`, and only makes its addresses the last of a pool to be given out.
 *
 * What an object claims is brought up to date when it changes. What a change of pools does to
 * the claims of others is found out when somebody asks (`#settle`): a start brings thousands.
 */
export type ClaimOwner = `${'node' | 'shadow' | 'pooled' | 'guard' | 'pool' | 'address'}/${string}`;

export class Register {
  readonly nodes = new Map<string, ClusterNode>();
  readonly blocks = new Map<string, Block>();
  readonly reports = new Map<string, NodeReport>();
  readonly ciliumNodes = new Map<string, CiliumNode>();
  /** Whether reports can be attributed to the agents of their nodes. */
  attribution: Attribution = believeAll;

  readonly #sources: readonly HoldingSource[];
  readonly #compared: readonly HoldingSource[];
  readonly #claims = new ClaimSets();
  readonly #unregistered = new ClaimSets();
  /** All of them. */
  readonly #refused = new ClaimSets();
  readonly #avoided = new ClaimSets();
  readonly #poolSet = new PoolSet([]);
  readonly #lists = new BlockLists();
  readonly #pending = new Map<string, Prefix[]>();
  readonly #holdings = new Map<string, Holdings>();
  readonly #letGo = new LetGoBlocks();
  readonly #limits: ClaimLimits;
  /** Of nodes with claims that no NodeBlock stands behind. */
  readonly #nodeClaims = new Map<string, NodeClaims>();
  /** Where pools came, went or changed since the claims there were judged. */
  #unjudged: Prefix[] = [];

  /** `compared`: records that are not adopted from, but compared and kept from others. */
  constructor(
    sources: readonly HoldingSource[],
    byDemand = false,
    compared: readonly HoldingSource[] = [],
  ) {
    this.#sources = sources;
    this.#compared = compared;
    this.#limits = new ClaimLimits(byDemand);
  }

  /** What one node may claim; the mode says whether blocks are given by demand. */
  get limits(): ClaimLimits {
    return this.#limits;
  }

  get poolSet(): PoolSet {
    this.#settle();
    return this.#poolSet;
  }

  get claims(): ClaimIndex<string> {
    this.#settle();
    return this.#claims.index;
  }

  /** Claims that no NodeBlock stands behind, and all addresses of nodes, by the same owners. */
  get unregistered(): ClaimIndex<string> {
    this.#settle();
    return this.#unregistered.index;
  }

  /** What nodes claim in vain, by the same owners. Of one node a few: see `mostAvoided`. */
  get refused(): ClaimIndex<string> {
    this.#settle();
    return this.#avoided.index;
  }

  putPool(pool: Pool): void {
    this.#poolSet.put(pool);
    this.#unjudged.push(...this.#limits.put(pool));
  }

  removePool(name: string): void {
    this.#poolSet.remove(name);
    this.#unjudged.push(...this.#limits.remove(name));
  }

  /** Networks that no pool may overlap, in place of those of before. */
  putNetworks(networks: readonly NamedNetwork[]): void {
    this.#poolSet.putNetworks(networks);
  }

  putNode(node: ClusterNode): void {
    this.nodes.set(node.name, node);
    this.#refresh(node.name);
  }

  removeNode(name: string): void {
    this.nodes.delete(name);
    this.#refresh(name);
  }

  putCiliumNode(cilium: CiliumNode): void {
    this.#letGo.put(cilium, this.ciliumNodes.get(cilium.name));
    this.ciliumNodes.set(cilium.name, cilium);
    this.#refresh(cilium.name);
  }

  removeCiliumNode(name: string): void {
    this.ciliumNodes.delete(name);
    this.#letGo.forget(name);
    this.#refresh(name);
  }

  putReport(report: NodeReport): void {
    const isAsBefore = claimSame(this.reports.get(report.name), report);
    this.reports.set(report.name, report);
    if (!isAsBefore) this.#refresh(report.name);
  }

  removeReport(name: string): void {
    this.reports.delete(name);
    this.#refresh(name);
  }

  putBlock(block: Block): void {
    const before = this.blocks.get(block.name);
    if (before !== undefined) this.#lists.remove(before);
    if (before?.uid !== block.uid) this.#letGo.forgetBlock(block.nodeName, block.prefix);
    this.blocks.set(block.name, block);
    this.#list(block);
    this.#refreshBlockOwner(block);
    if (before !== undefined && before.nodeName !== block.nodeName) this.#refreshBlockOwner(before);
  }

  removeBlock(name: string): void {
    const before = this.blocks.get(name);
    if (before === undefined) return;
    this.blocks.delete(name);
    this.#letGo.forgetBlock(before.nodeName, before.prefix);
    this.#lists.remove(before);
    this.#refreshBlockOwner(before);
  }

  /** Keeps a prefix for a node while the write that makes it true is under way. */
  reserve(nodeName: string, prefix: Prefix): void {
    this.#pending.set(nodeName, [...(this.#pending.get(nodeName) ?? []), prefix]);
    this.#refresh(nodeName);
  }

  unreserve(nodeName: string, prefix: Prefix): void {
    const left = (this.#pending.get(nodeName) ?? []).filter((other) => !other.equals(prefix));
    if (left.length > 0) this.#pending.set(nodeName, left);
    else this.#pending.delete(nodeName);
    this.#refresh(nodeName);
  }

  /** Whether a write that takes this very prefix is under way. */
  isReserved(prefix: Prefix): boolean {
    for (const pending of this.#pending.values()) {
      if (pending.some((other) => other.equals(prefix))) return true;
    }
    return false;
  }

  /** A node's blocks in every phase, oldest first. */
  blocksOf(nodeName: string): Block[] {
    const found = [...this.#lists.ofNode(nodeName)];
    return found.sort((a, b) => a.createdMs - b.createdMs || a.prefix.compare(b.prefix));
  }

  /** The blocks that belong to a pool: by where they lie, whatever they were cut from. */
  blocksOfPool(pool: string): ReadonlySet<Block> {
    this.#settle();
    return this.#lists.ofPool(pool);
  }

  /** What the report of a former Node of this name uses: one that is gone or was made anew. */
  formerUses(nodeName: string): Prefix[] {
    if (!this.#sources.includes('report')) return [];
    return usesOfFormer(this.reports.get(nodeName), this.nodes.get(nodeName));
  }

  /** Whether Cilium's agent has dropped the block from the pools of its CiliumNode. */
  hasLetGo({ nodeName, prefix }: { nodeName: string; prefix: Prefix }): boolean {
    return this.#letGo.has(nodeName, prefix);
  }

  /** What records other than the register say the node holds. */
  holdingsOf(nodeName: string): Holdings {
    const known = this.#holdings.get(nodeName);
    return known ?? noHoldings();
  }

  /** What the node claims without a NodeBlock, its own addresses among it. */
  claimsOf(nodeName: string): NodeClaims {
    this.#settle();
    return this.#nodeClaims.get(nodeName) ?? noClaims;
  }

  /** The names of nodes, existing or not, whose claims are refused. */
  refusedNodes(): string[] {
    this.#settle();
    return [...this.#nodeClaims].flatMap(([name, { refused }]) => (refused.length > 0 ? name : []));
  }

  #list(block: Block): void {
    this.#lists.put(block, this.poolSet.homeOf(block)?.name ?? block.pool);
  }

  #refreshBlockOwner(block: Block): void {
    if (block.nodeName !== '') this.#refresh(block.nodeName);
    else {
      // A block of a node may have taken the guard's name since.
      const stands = this.blocks.get(block.name);
      const owner: ClaimOwner = `guard/${block.name}`;
      const guards = stands === undefined || stands.nodeName !== '' ? [] : [stands];
      this.#claims.set(
        owner,
        guards.map(({ prefix }) => ({ prefix, owner })),
      );
    }
  }

  /** Brings the claims of one node's name in line with everything known about it. */
  #refresh(nodeName: string): void {
    const node = this.nodes.get(nodeName);
    const cilium = this.ciliumNodes.get(nodeName);
    const report = this.reports.get(nodeName);
    const holdings = readHoldings(node, cilium, this.#sources, report, this.#compared);
    const { bySource, compared, pooled, malformed } = holdings;
    if (bySource.size + compared.size + pooled.length + malformed.length > 0) {
      this.#holdings.set(nodeName, holdings);
    } else this.#holdings.delete(nodeName);

    const claims = nodeClaims(this.#limits, {
      node,
      blocks: [...this.#lists.ofNode(nodeName)],
      pending: this.#pending.get(nodeName) ?? [],
      holdings,
      formerUses: this.formerUses(nodeName),
    });
    const { registered, kept, refused } = claims;
    if (kept.length + refused.length > 0) this.#nodeClaims.set(nodeName, claims);
    else this.#nodeClaims.delete(nodeName);
    const owned = kept.map(
      ({ prefix, kind, isInPool }) =>
        ({ prefix, owner: `${kind}/${nodeName}`, counts: isInPool || kind !== 'address' }) as const,
    );
    const inPools = owned.filter(({ counts }) => counts);
    const owner: ClaimOwner = `node/${nodeName}`;
    this.#claims.set(owner, [...registered.map((prefix) => ({ prefix, owner })), ...inPools]);
    this.#unregistered.set(owner, owned);
    const inVain = refused.map(({ prefix }) => ({ prefix, owner }));
    this.#refused.set(owner, inVain);
    this.#avoided.set(owner, inVain.slice(0, mostAvoided));
  }

  /** Does what follows from changes of pools, for all that changed since it was last asked for. */
  #settle(): void {
    const changed = this.#poolSet.settle();
    if (changed.length > 0) {
      for (const { name } of changed) this.#claimReserved(name);
      this.#listBlocksIn(changed.flatMap(({ cidrs }) => cidrs));
    }
    if (this.#unjudged.length > 0) {
      const places = this.#unjudged;
      this.#unjudged = [];
      this.#judgeClaimsIn(places);
    }
  }

  /** A pool that serves nothing must not keep addresses from one that does. */
  #claimReserved(name: string): void {
    const owner: ClaimOwner = `pool/${name}`;
    const pool = this.#poolSet.get(name);
    const isServing = pool !== undefined && this.#poolSet.problem(name) === undefined;
    const reserved = isServing ? ownReserved(pool) : [];
    this.#claims.set(
      owner,
      reserved.map((prefix) => ({ prefix, owner })),
    );
  }

  #listBlocksIn(changed: readonly Prefix[]): void {
    const places = PrefixSet.of(changed).prefixes;
    const found = new Set<Block>();
    // Each has to be looked at once, not once for every place that it lies around.
    if (places.length >= this.blocks.size)
      for (const block of this.blocks.values()) found.add(block);
    else {
      for (const place of places) {
        for (const { prefix } of this.#claims.index.overlapping(place)) {
          const block = this.blocks.get(blockName(prefix));
          if (block !== undefined) found.add(block);
        }
      }
    }
    for (const block of found) this.#list(block);
  }

  /**
   * What the nodes with claims there may claim is judged again. A registered block counts too: it may
   * be one of another pool now, and leave room in the one it was of.
   */
  #judgeClaimsIn(changed: readonly Prefix[]): void {
    const places = PrefixSet.of(changed).prefixes;
    const names = new Set<string>();
    if (places.length >= this.#nodeClaims.size) {
      for (const name of this.#nodeClaims.keys()) names.add(name);
    } else {
      for (const place of places) {
        for (const { index } of [this.#claims, this.#unregistered, this.#refused]) {
          for (const { owner } of index.overlapping(place)) {
            const name = owner.slice(owner.indexOf('/') + 1);
            if (this.#nodeClaims.has(name)) names.add(name);
          }
        }
      }
    }
    for (const name of names) this.#refresh(name);
  }
}

/** Of one node's refused claims so many are avoided: more would only cost everybody's time. */
const mostAvoided = 16;

const noClaims: NodeClaims = { registered: [], kept: [], refused: [] };

/** What a pool reserves, cut down to its own CIDRs: it reserves nothing of other pools. */
function ownReserved({ cidrs, reserved }: Pool): Prefix[] {
  return reserved.flatMap((range) =>
    cidrs
      .filter((cidr) => cidr.overlaps(range))
      .map((cidr) => (cidr.length > range.length ? cidr : range)),
  );
}
