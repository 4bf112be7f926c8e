import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import type { Labels } from '../../model/label-selector.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PoolNetworks } from './pool-networks.ts';
import type { PoolProblem } from './pool-problem.ts';
import { placeOf, SelectorIndex } from './selector-index.ts';

interface Entry {
  pool: Pool;
  problem: PoolProblem | undefined;
  /** Has no problem, and is known to the others as such. */
  isSound: boolean;
  /** The older pool that it overlaps, as its problem says. */
  rival: Entry | undefined;
  /** Where the index of selectors keeps it. */
  labels: readonly string[];
}

/**
 * All pools together, and which of them may serve. Of two pools that overlap the
 * older one is right and the younger one serves nothing: a pool that is already
 * in use must not be stopped by a new one.
 *
 * There may be ten thousand, and each changes with every status that is written. So nothing here looks
 * at all of them: who overlaps whom is asked of a trie, who selects a node of an index of labels. Pools
 * that came or changed are judged together when `settle` is called, oldest first, and after them only
 * those that overlap one of which the judgement is another now. Pools that may serve overlap none
 * of each other, so each of the others has to look at no more than one to know that it may not.
 */
export class PoolSet {
  readonly #entries = new Map<string, Entry>();
  /** Oldest first. */
  readonly #bySeniority: Entry[] = [];
  readonly #selectors = new SelectorIndex<Entry>(byPreference);
  readonly #networks: PoolNetworks;
  readonly #places = new ClaimIndex<Entry>();
  readonly #soundPlaces = new ClaimIndex<Entry>();
  readonly #perFamily: Record<Family, number> = { ipv4: 0, ipv6: 0 };
  #unsettled = new Set<Entry>();
  #touched: Array<{ name: string; cidrs: readonly Prefix[] }> = [];
  #pools: readonly Pool[] | undefined;
  #judgements = 0;

  constructor(pools: Iterable<Pool>, networks: readonly NamedNetwork[] = []) {
    this.#networks = new PoolNetworks(networks);
    for (const pool of pools) this.put(pool);
    this.settle();
  }

  /** Oldest first. */
  get pools(): readonly Pool[] {
    this.#pools ??= this.#bySeniority.map(({ pool }) => pool);
    return this.#pools;
  }

  /** Counts the times that the judgement of a pool became another one. */
  get judgements(): number {
    return this.#judgements;
  }

  get(name: string): Pool | undefined {
    return this.#entries.get(name)?.pool;
  }

  problem(name: string): PoolProblem | undefined {
    return this.#entries.get(name)?.problem;
  }

  /** The pool that a block lies in; sound pools come before those with a problem. */
  containing(prefix: Prefix): Pool | undefined {
    const [sound] = this.#soundPlaces.around(prefix);
    if (sound !== undefined) return sound.owner.pool;
    const holders = this.#places.around(prefix).map(({ owner }) => owner.pool);
    return holders.length > 1 ? holders.sort(bySeniority)[0] : holders[0];
  }

  /**
   * The pool that a block belongs to now: the one it was cut from, as long as
   * that contains it; else whichever does. (After a change of mode the blocks
   * still carry the name of a pool that is no more.)
   */
  homeOf({ pool, prefix }: { pool: string; prefix: Prefix }): Pool | undefined {
    const named = this.get(pool);
    if (named?.cidrs.some((cidr) => cidr.contains(prefix))) return named;
    return this.containing(prefix);
  }

  /** The pools that select a node, best first: priority, then specificity, then name. */
  *selecting(labels: Labels): Generator<Pool, void> {
    for (const { pool } of this.#selectors.selecting(labels)) yield pool;
  }

  /** Every family that any pool serves. */
  families(): Set<Family> {
    return new Set(families.filter((family) => this.#perFamily[family] > 0));
  }

  /** The pool as it is now. It is judged by `settle`. */
  put(pool: Pool): void {
    this.#pools = undefined;
    const before = this.#entries.get(pool.name);
    if (before !== undefined && isJudgedAlike(before.pool, pool)) {
      before.pool = pool;
      return;
    }
    if (before !== undefined) this.#take(before);
    const problem = before?.problem;
    const entry: Entry = { pool, problem, isSound: false, rival: undefined, labels: [] };
    entry.labels = this.#selectors.add(entry);
    this.#entries.set(pool.name, entry);
    this.#bySeniority.splice(this.#placeOf(entry), 0, entry);
    for (const cidr of pool.cidrs) this.#places.record(cidr, entry);
    for (const family of poolFamilies(pool)) this.#perFamily[family]++;
    this.#unsettled.add(entry);
    this.#touched.push({ name: pool.name, cidrs: pool.cidrs });
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#pools = undefined;
    this.#take(entry);
    this.#entries.delete(name);
  }

  /** Networks that no pool may overlap, in place of those of before. */
  putNetworks(networks: readonly NamedNetwork[]): void {
    for (const changed of this.#networks.put(networks)) {
      for (const { owner } of this.#places.overlapping(changed)) this.#unsettled.add(owner);
    }
  }

  /** Judges what came or changed since. Returned: which pools are others now, and where they lie or lay. */
  settle(): ReadonlyArray<{ name: string; cidrs: readonly Prefix[] }> {
    const waiting = this.#unsettled;
    // Where everybody waits, nobody has to be looked for whom a judgement makes a difference for.
    const isWhole = waiting.size === this.#entries.size;
    let eldest: Entry | undefined;
    for (const entry of waiting) {
      if (eldest === undefined || entryBySeniority(entry, eldest) < 0) eldest = entry;
    }
    // Only younger ones are added on the way.
    for (let at = eldest === undefined ? 0 : this.#placeOf(eldest); waiting.size > 0; at++) {
      const entry = this.#bySeniority[at]!;
      if (!waiting.delete(entry)) continue;
      const hasTurned = this.#judge(entry);
      if (hasTurned && !isWhole) for (const junior of this.#concerned(entry)) waiting.add(junior);
    }
    const touched = this.#touched;
    this.#touched = [];
    if (touched.length > 0) this.#judgements++;
    return touched;
  }

  /** Whether it may serve now and could not before, or the other way round. */
  #judge(entry: Entry): boolean {
    const { pool, problem: before, isSound: wasSound } = entry;
    const ofNetwork = this.#networks.problemOf(pool);
    const rival = ofNetwork === undefined ? this.#rivalOf(entry) : undefined;
    entry.problem = ofNetwork ?? rival?.problem;
    entry.rival = rival?.entry;
    entry.isSound = entry.problem === undefined;
    if (entry.problem?.detail !== before?.detail) {
      this.#touched.push({ name: pool.name, cidrs: pool.cidrs });
    }
    if (entry.isSound === wasSound) return false;
    for (const cidr of pool.cidrs) {
      if (entry.isSound) this.#soundPlaces.record(cidr, entry);
      else this.#soundPlaces.release(cidr, entry);
    }
    return true;
  }

  /** The younger ones whose problem may be another now, because it may serve or may no longer. */
  #concerned(entry: Entry): Set<Entry> {
    const { pool, isSound } = entry;
    const found = new Set<Entry>();
    for (const cidr of pool.cidrs) {
      for (const { owner } of this.#places.overlapping(cidr)) {
        const isConcerned = isSound ? bySeniority(pool, owner.pool) < 0 : owner.rival === entry;
        if (isConcerned) found.add(owner);
      }
    }
    return found;
  }

  /** The lowest CIDR of an older pool that may serve, in the way of the first CIDR possible. */
  #rivalOf(entry: Entry): { entry: Entry; problem: PoolProblem } | undefined {
    const { pool } = entry;
    for (const cidr of pool.cidrs) {
      const hit = this.#soundPlaces.firstOverlap(
        cidr,
        ({ owner }) => owner !== entry && bySeniority(owner.pool, pool) < 0,
      );
      if (hit === undefined) continue;
      const { owner, prefix } = hit;
      const detail = `${cidr} of pool ${pool.name} overlaps ${prefix} of pool ${owner.pool.name}`;
      return { entry: owner, problem: { reason: 'OverlappingPools', detail } };
    }
    return undefined;
  }

  /** Out of all indexes; those in whose way it stood are judged again. */
  #take(entry: Entry): void {
    const { pool } = entry;
    this.#selectors.remove(entry, entry.labels);
    this.#bySeniority.splice(this.#placeOf(entry), 1);
    for (const cidr of pool.cidrs) {
      this.#places.release(cidr, entry);
      if (entry.isSound) this.#soundPlaces.release(cidr, entry);
    }
    if (entry.isSound) {
      entry.isSound = false;
      for (const junior of this.#concerned(entry)) this.#unsettled.add(junior);
    }
    for (const family of poolFamilies(pool)) this.#perFamily[family]--;
    this.#unsettled.delete(entry);
    this.#touched.push({ name: pool.name, cidrs: pool.cidrs });
  }

  #placeOf(entry: Entry): number {
    return placeOf(this.#bySeniority, entry, entryBySeniority);
  }
}

/** Whether they differ only in what no judgement here depends on, as its status. */
function isJudgedAlike(a: Pool, b: Pool): boolean {
  return (
    a.uid === b.uid &&
    a.createdMs === b.createdMs &&
    a.priority === b.priority &&
    isSameList(a.cidrs, b.cidrs) &&
    isSameList(a.reserved, b.reserved) &&
    JSON.stringify(a.selector) === JSON.stringify(b.selector)
  );
}

function isSameList(a: readonly Prefix[], b: readonly Prefix[]): boolean {
  return a === b || (a.length === b.length && a.every((prefix, at) => prefix.equals(b[at]!)));
}

/** Oldest first. */
export function bySeniority(a: Pool, b: Pool): number {
  return a.createdMs - b.createdMs || compareText(a.name, b.name);
}

const entryBySeniority = (a: Entry, b: Entry) => bySeniority(a.pool, b.pool);

function byPreference({ pool: a }: Entry, { pool: b }: Entry): number {
  return b.priority - a.priority || b.specificity - a.specificity || compareText(a.name, b.name);
}

/** By code unit, not by locale: every replica must sort alike. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
