import type { CiliumNode } from '../../model/cilium-node.ts';
import { isFromFlags, type Pool } from '../../model/ip-pool.ts';
import { clusterPoolName } from '../../model/keys.ts';
import { type NamedNetwork, nodeNetworks } from '../../model/network.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PoolSet } from '../pools/pool-set.ts';
import { type Attribution, believeAll } from './attribution.ts';
import {
  type HoldingSource,
  type Holdings,
  isRestOf,
  readHoldings,
  recordedHoldings,
  usedHoldings,
} from './holdings.ts';
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
 *   address/N   node N's own address, where it lies in the range the flags give
 *
 * Claims are compared as sets per owner and brought up to date on every change;
 * no code path adds or removes a single claim by hand.
 */
export type ClaimOwner = `${'node' | 'shadow' | 'guard' | 'pool' | 'address'}/${string}`;

export class Register {
  readonly nodes = new Map<string, ClusterNode>();
  readonly blocks = new Map<string, Block>();
  readonly reports = new Map<string, NodeReport>();
  readonly ciliumNodes = new Map<string, CiliumNode>();
  /** Whether reports can be attributed to the agents of their nodes. */
  attribution: Attribution = believeAll;

  readonly #sources: readonly HoldingSource[];
  readonly #claims = new ClaimIndex<string>();
  readonly #poolSet = new PoolSet([]);
  readonly #blocksByNode = new Map<string, Set<Block>>();
  readonly #blocksByPool = new Map<string, Set<Block>>();
  /** The pool each block belongs to now, by the block's name. */
  readonly #homes = new Map<string, string>();
  readonly #pending = new Map<string, Prefix[]>();
  readonly #claimed = new Map<string, Map<string, { prefix: Prefix; owner: ClaimOwner }>>();
  readonly #holdings = new Map<string, Holdings>();

  constructor(sources: readonly HoldingSource[]) {
    this.#sources = sources;
  }

  get poolSet(): PoolSet {
    this.#settlePools();
    return this.#poolSet;
  }

  get claims(): ClaimIndex<string> {
    this.#settlePools();
    return this.#claims;
  }

  putPool(pool: Pool): void {
    this.#poolSet.put(pool);
  }

  removePool(name: string): void {
    this.#poolSet.remove(name);
  }

  /** Networks that no pool may overlap, by who says so: `services`, or `node/NAME`. */
  putNetworks(source: string, networks: readonly NamedNetwork[]): void {
    this.#poolSet.putNetworks(source, networks);
  }

  putNode(node: ClusterNode): void {
    this.nodes.set(node.name, node);
    this.putNetworks(`node/${node.name}`, nodeNetworks(node));
    this.#refresh(node.name);
  }

  removeNode(name: string): void {
    this.nodes.delete(name);
    this.putNetworks(`node/${name}`, []);
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
    this.#linkHome(block);
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
    this.#settlePools();
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

  #unlink(block: Block): void {
    unlinkFrom(this.#blocksByNode, block.nodeName, block);
    unlinkFrom(this.#blocksByPool, this.#homes.get(block.name) ?? block.pool, block);
    this.#homes.delete(block.name);
  }

  #linkHome(block: Block): void {
    const home = this.poolSet.homeOf(block)?.name ?? block.pool;
    this.#homes.set(block.name, home);
    linkTo(this.#blocksByPool, home, block);
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

    const owner: ClaimOwner = `node/${nodeName}`;
    const wanted = new Map<string, { prefix: Prefix; owner: ClaimOwner }>();
    const want = (prefix: Prefix, by: ClaimOwner) => {
      const key = prefix.toString();
      if (!wanted.has(key)) wanted.set(key, { prefix, owner: by });
    };
    const blocks = this.#blocksByNode.get(nodeName) ?? [];
    for (const block of blocks) want(block.prefix, owner);
    for (const prefix of this.#pending.get(nodeName) ?? []) want(prefix, owner);
    if (node !== undefined) {
      for (const prefix of usedHoldings(holdings)) want(prefix, owner);
      const live = [...blocks].filter((block) => block.phase !== 'Cooling');
      for (const family of families) {
        const recorded = recordedHoldings(holdings, family);
        if (isRestOf(recorded, live)) for (const prefix of recorded) want(prefix, owner);
      }
    }
    for (const prefix of this.formerUses(nodeName)) want(prefix, `shadow/${nodeName}`);
    for (const found of holdings.bySource.values()) {
      for (const prefix of [...found.ipv4, ...found.ipv6]) want(prefix, `shadow/${nodeName}`);
    }
    if (node !== undefined)
      for (const { prefix } of this.#avoided(node)) want(prefix, `address/${nodeName}`);
    this.#setClaims(owner, [...wanted.values()]);
  }

  /**
   * A pool object that overlaps the nodes' own network is refused. The range in
   * the flags serves a whole cluster (Cilium's default is 10.0.0.0/8), so there
   * only the blocks around the nodes' addresses are left out.
   */
  #avoided(node: ClusterNode): NamedNetwork[] {
    const pool = this.#poolSet.get(clusterPoolName);
    if (pool === undefined || !isFromFlags(pool)) return [];
    return nodeNetworks(node).filter(({ prefix }) =>
      pool.cidrs.some((cidr) => cidr.contains(prefix)),
    );
  }

  #setClaims(key: string, claims: ReadonlyArray<{ prefix: Prefix; owner: ClaimOwner }>): void {
    const before = this.#claimed.get(key);
    if (before === undefined && claims.length === 0) return;
    const after = new Map(claims.map((claim) => [`${claim.owner} ${claim.prefix}`, claim]));
    for (const [id, { prefix, owner }] of before ?? []) {
      if (!after.has(id)) this.#claims.release(prefix, owner);
    }
    for (const [id, { prefix, owner }] of after) {
      if (!before?.has(id)) this.#claims.record(prefix, owner);
    }
    if (after.size > 0) this.#claimed.set(key, after);
    else this.#claimed.delete(key);
  }

  /**
   * Pools that came or changed are judged when somebody asks, all at once: there may be thousands.
   * A pool that serves nothing must not keep addresses from one that does.
   */
  #settlePools(): void {
    for (const { name, cidrs } of this.#poolSet.settle()) {
      const owner: ClaimOwner = `pool/${name}`;
      const pool = this.#poolSet.get(name);
      const isServing = pool !== undefined && this.#poolSet.problem(name) === undefined;
      const reserved = isServing ? ownReserved(pool) : [];
      this.#setClaims(
        owner,
        reserved.map((prefix) => ({ prefix, owner })),
      );
      for (const cidr of cidrs) {
        for (const { prefix } of this.#claims.overlapping(cidr)) {
          const block = this.blocks.get(blockName(prefix));
          if (block === undefined) continue;
          unlinkFrom(this.#blocksByPool, this.#homes.get(block.name) ?? block.pool, block);
          this.#linkHome(block);
        }
      }
    }
  }
}

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
