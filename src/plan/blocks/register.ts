import type { CiliumNode } from '../../model/cilium-node.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { NamedNetwork } from '../../model/network.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { overlapsNetwork, PoolSet } from '../pools/pool-set.ts';
import { ClaimLimits } from './claim-limits.ts';
import { type HoldingSource, type Holdings, readHoldings } from './holdings.ts';
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
 *   guard/NAME  a cell that odd-sized blocks lie in
 *   pool/P      what pool P reserves of its own CIDRs, as long as P may serve
 *   address/N   node N's own address, where it lies in a pool
 *
 * What a node claims beyond what one node may (claim-limits.ts) is no claim: it is in
 * `refused`, and only makes its addresses the last of a pool to be given out.
 *
 * Claims are compared as sets per owner and brought up to date on every change;
 * no code path adds or removes a single claim by hand.
 */
export type ClaimOwner = `${'node' | 'shadow' | 'guard' | 'pool' | 'address'}/${string}`;

export class Register {
  readonly claims = new ClaimIndex<string>();
  /** Claims that no NodeBlock stands behind, and all addresses of nodes, by the same owners. */
  readonly unregistered = new ClaimIndex<string>();
  /** What nodes claim in vain, by the node's name. Of one node a few: see `mostAvoided`. */
  readonly refused = new ClaimIndex<string>();
  readonly nodes = new Map<string, ClusterNode>();
  readonly blocks = new Map<string, Block>();
  readonly reports = new Map<string, NodeReport>();
  readonly ciliumNodes = new Map<string, CiliumNode>();
  poolSet = new PoolSet([]);

  readonly #sources: readonly HoldingSource[];
  readonly #networks = new Map<string, readonly NamedNetwork[]>();
  readonly #pools = new Map<string, Pool>();
  readonly #blocksByNode = new Map<string, Set<Block>>();
  /** By the pool each block belongs to now; made when asked for, dropped when pools change. */
  #blocksByPool: Map<string, Set<Block>> | undefined;
  readonly #pending = new Map<string, Prefix[]>();
  readonly #claimed = new Map<string, Map<string, { prefix: Prefix; owner: ClaimOwner }>>();
  readonly #holdings = new Map<string, Holdings>();
  readonly #limits: ClaimLimits;
  /** Of nodes with claims that no NodeBlock stands behind. */
  readonly #nodeClaims = new Map<string, NodeClaims>();

  constructor(sources: readonly HoldingSource[], byDemand = false) {
    this.#sources = sources;
    this.#limits = new ClaimLimits(byDemand);
  }

  /** What one node may claim; the mode says whether blocks are given by demand. */
  get limits(): ClaimLimits {
    return this.#limits;
  }

  putPool(pool: Pool): void {
    this.#pools.set(pool.name, pool);
    this.#judgePools();
    this.#judgeClaimsIn(this.#limits.put(pool));
  }

  removePool(name: string): void {
    this.#pools.delete(name);
    this.#judgePools();
    this.#setClaims(`pool/${name}`, []);
    this.#judgeClaimsIn(this.#limits.remove(name));
  }

  /** Networks that no pool may overlap, by who says so. */
  putNetworks(source: string, networks: readonly NamedNetwork[]): void {
    const before = this.#networks.get(source);
    if (before === undefined && networks.length === 0) return;
    if (networks.length === 0) this.#networks.delete(source);
    else this.#networks.set(source, networks);
    if (sameNetworks(before ?? [], networks)) return;
    const changed = [...(before ?? []), ...networks];
    if (this.poolSet.pools.some((pool) => overlapsNetwork(pool, changed))) this.#judgePools();
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
    this.ciliumNodes.set(cilium.name, cilium);
    this.#refresh(cilium.name);
  }

  removeCiliumNode(name: string): void {
    this.ciliumNodes.delete(name);
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
    if (before !== undefined) this.#unlink(before);
    this.blocks.set(block.name, block);
    linkTo(this.#blocksByNode, block.nodeName, block);
    if (this.#blocksByPool) linkTo(this.#blocksByPool, this.#homeOf(block), block);
    this.#refreshBlockOwner(block);
    if (before !== undefined && before.nodeName !== block.nodeName) this.#refreshBlockOwner(before);
  }

  removeBlock(name: string): void {
    const before = this.blocks.get(name);
    if (before === undefined) return;
    this.blocks.delete(name);
    this.#unlink(before);
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
    const found = this.#blocksByNode.get(nodeName);
    if (found === undefined) return [];
    return [...found].sort((a, b) => a.createdMs - b.createdMs || a.prefix.compare(b.prefix));
  }

  /** The blocks that belong to a pool: by where they lie, whatever they were cut from. */
  blocksOfPool(pool: string): ReadonlySet<Block> {
    if (this.#blocksByPool === undefined) {
      this.#blocksByPool = new Map();
      for (const block of this.blocks.values()) {
        linkTo(this.#blocksByPool, this.#homeOf(block), block);
      }
    }
    return this.#blocksByPool.get(pool) ?? new Set();
  }

  /** What the report of a former Node of this name uses: one that is gone or was made anew. */
  formerUses(nodeName: string): Prefix[] {
    if (!this.#sources.includes('report')) return [];
    return usesOfFormer(this.reports.get(nodeName), this.nodes.get(nodeName));
  }

  /** What records other than the register say the node holds. */
  holdingsOf(nodeName: string): Holdings {
    const known = this.#holdings.get(nodeName);
    return known ?? { bySource: new Map(), malformed: [] };
  }

  /** What the node claims without a NodeBlock, its own addresses among it. */
  claimsOf(nodeName: string): NodeClaims {
    return this.#nodeClaims.get(nodeName) ?? noClaims;
  }

  /** The names of nodes, existing or not, whose claims are refused. */
  refusedNodes(): string[] {
    return [...this.#nodeClaims].flatMap(([name, { refused }]) => (refused.length > 0 ? name : []));
  }

  #unlink(block: Block): void {
    unlinkFrom(this.#blocksByNode, block.nodeName, block);
    if (this.#blocksByPool) unlinkFrom(this.#blocksByPool, this.#homeOf(block), block);
  }

  #homeOf(block: Block): string {
    return this.poolSet.homeOf(block)?.name ?? block.pool;
  }

  #refreshBlockOwner(block: Block): void {
    if (block.nodeName !== '') this.#refresh(block.nodeName);
    else {
      // A block of a node may have taken the guard's name since.
      const stands = this.blocks.get(block.name);
      const owner: ClaimOwner = `guard/${block.name}`;
      const guards = stands === undefined || stands.nodeName !== '' ? [] : [stands];
      this.#setClaims(
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
    const holdings = readHoldings(node, cilium, this.#sources, report);
    if (holdings.bySource.size > 0 || holdings.malformed.length > 0) {
      this.#holdings.set(nodeName, holdings);
    } else this.#holdings.delete(nodeName);

    const claims = nodeClaims(this.#limits, {
      node,
      blocks: [...(this.#blocksByNode.get(nodeName) ?? [])],
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
    this.#setClaims(owner, [...registered.map((prefix) => ({ prefix, owner })), ...inPools]);
    this.#setClaims(`unregistered/${nodeName}`, owned, this.unregistered);
    this.#setClaims(
      `refused/${nodeName}`,
      refused.slice(0, mostAvoided).map(({ prefix }) => ({ prefix, owner })),
      this.refused,
    );
  }

  /** Pools came, went or changed: what nodes may claim there is another. */
  #judgeClaimsIn(cidrs: readonly Prefix[]): void {
    const names = new Set<string>();
    for (const cidr of cidrs) {
      for (const { owner } of this.unregistered.overlapping(cidr)) names.add(nodeOf(owner));
      for (const { owner } of this.refused.overlapping(cidr)) names.add(nodeOf(owner));
    }
    if (cidrs.length > 0) {
      for (const [name, { refused }] of this.#nodeClaims) {
        if (refused.length > mostAvoided) names.add(name);
      }
    }
    for (const name of names) this.#refresh(name);
  }

  #setClaims(
    key: string,
    claims: ReadonlyArray<{ prefix: Prefix; owner: ClaimOwner }>,
    index: ClaimIndex<string> = this.claims,
  ): void {
    const before = this.#claimed.get(key);
    if (before === undefined && claims.length === 0) return;
    const after = new Map(claims.map((claim) => [`${claim.owner} ${claim.prefix}`, claim]));
    for (const [id, { prefix, owner }] of before ?? []) {
      if (!after.has(id)) index.release(prefix, owner);
    }
    for (const [id, { prefix, owner }] of after) {
      if (!before?.has(id)) index.record(prefix, owner);
    }
    if (after.size > 0) this.#claimed.set(key, after);
    else this.#claimed.delete(key);
  }

  /** A pool that serves nothing must not keep addresses from one that does. */
  #judgePools(): void {
    this.poolSet = new PoolSet(this.#pools.values(), [...this.#networks.values()].flat());
    this.#blocksByPool = undefined;
    for (const pool of this.poolSet.pools) {
      const owner: ClaimOwner = `pool/${pool.name}`;
      const reserved = this.poolSet.problem(pool.name) === undefined ? ownReserved(pool) : [];
      this.#setClaims(
        owner,
        reserved.map((prefix) => ({ prefix, owner })),
      );
    }
  }
}

/** Of one node's refused claims so many are avoided: more would only cost everybody's time. */
const mostAvoided = 16;

const noClaims: NodeClaims = { registered: [], kept: [], refused: [] };

const nodeOf = (owner: string) => owner.slice(owner.indexOf('/') + 1);

/** What a pool reserves, cut down to its own CIDRs: it reserves nothing of other pools. */
function ownReserved({ cidrs, reserved }: Pool): Prefix[] {
  return reserved.flatMap((range) =>
    cidrs
      .filter((cidr) => cidr.overlaps(range))
      .map((cidr) => (cidr.length > range.length ? cidr : range)),
  );
}

function linkTo(map: Map<string, Set<Block>>, key: string, block: Block): void {
  const found = map.get(key);
  if (found === undefined) map.set(key, new Set([block]));
  else found.add(block);
}

function unlinkFrom(map: Map<string, Set<Block>>, key: string, block: Block): void {
  const found = map.get(key);
  found?.delete(block);
  if (found?.size === 0) map.delete(key);
}

function sameNetworks(a: readonly NamedNetwork[], b: readonly NamedNetwork[]): boolean {
  return a.length === b.length && a.every(({ prefix }, at) => b[at]?.prefix.equals(prefix));
}
