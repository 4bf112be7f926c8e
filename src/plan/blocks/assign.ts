import { listNames } from '../../base/count-text.ts';
import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { Reason } from '../../model/reasons.ts';
import type { ClaimIndex } from '../../net/claim-index.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { isReleasedByTime } from './block-life.ts';
import { roomTakers } from './claim-findings.ts';
import { mostBlocksOfNode } from './claim-limits.ts';
import type { Cut } from './cut.ts';
import type { BlockRefusal } from './finding.ts';
import type { Register } from './register.ts';

/** What matters of a block here: where it lies and where it came from. */
export interface Holds {
  pool: string;
  prefix: Prefix;
}

export interface Assignment {
  cuts: Cut[];
  refused: BlockRefusal[];
}

/**
 * Cuts new blocks for the families a node still needs. Pools are asked best
 * first; a pool of both families serves both or nothing, so a node is never left
 * with half of it; a full pool falls through to the next.
 */
export function assignBlocks(
  register: Register,
  node: ClusterNode,
  held: ReadonlyArray<Holds>,
  needed: ReadonlySet<Family>,
  allowed: ReadonlySet<Family>,
  byDemand = false,
): Assignment {
  const cuts: Cut[] = [];
  const missing = new Set(needed);
  const notes: Note[] = [];
  const candidates: Pool[] = [];
  for (const pool of register.poolSet.selecting(node.labels)) {
    if (missing.size === 0) break;
    candidates.push(pool);
    const offers = poolFamilies(pool).filter((family) => allowed.has(family));
    const wanted = offers.filter((family) => missing.has(family));
    if (wanted.length === 0) continue;
    const verdict =
      limitReached(register, pool, wanted, held, byDemand) ??
      tryPool(register, pool, offers, wanted, held);
    if (verdict.kind === 'note') {
      notes.push(...wanted.map((family) => ({ ...verdict.note, family })));
      continue;
    }
    cuts.push(...verdict.cuts);
    for (const family of wanted) missing.delete(family);
  }
  return { cuts, refused: [...missing].map((family) => refusal(node, family, candidates, notes)) };
}

/**
 * The lowest free block of a pool, CIDR by CIDR in the order the pool lists them. Where
 * a node claims more than it may, pods may live all the same: those come last.
 */
export function nextBlock(register: Register, pool: Pool, family: Family): Prefix | undefined {
  const size = pool.blockSize[family];
  if (size === undefined) return undefined;
  const cidrs = pool.cidrs.filter((cidr) => cidr.family === family);
  for (const cidr of cidrs) {
    for (const part of partsWithout(register.refused, cidr, size)) {
      const free = register.claims.nextFree(part, size);
      if (free !== undefined) return free;
    }
  }
  if (register.refused.size === 0) return undefined;
  for (const cidr of cidrs) {
    const free = register.claims.nextFree(cidr, size);
    if (free !== undefined) return free;
  }
  return undefined;
}

/** What is left of a CIDR without the claims, as prefixes of at least a block, lowest first. */
function* partsWithout(
  claims: ClaimIndex<string>,
  cidr: Prefix,
  size: number,
): Generator<Prefix, void> {
  const first = claims.size === 0 ? undefined : claims.firstOverlap(cidr);
  if (first === undefined) yield cidr;
  else if (cidr.length < size && !first.prefix.contains(cidr)) {
    yield* partsWithout(claims, cidr.subPrefix(cidr.length + 1, 0), size);
    yield* partsWithout(claims, cidr.subPrefix(cidr.length + 1, 1), size);
  }
}

/**
 * A block that was released by time alone: given only when nothing else is free. Of
 * several the one that has rested longest.
 */
export function lastResort(register: Register, pool: Pool, family: Family): Block | undefined {
  const size = pool.blockSize[family];
  let best: Block | undefined;
  for (const block of register.blocksOfPool(pool.name)) {
    if (block.prefix.family !== family || !isLastResort(register, block, size)) continue;
    if (best === undefined || byRest(block, best) < 0) best = block;
  }
  return best;
}

/** Whether it was released by time alone, and nobody but its old node has a claim on it. */
export function isLastResort(register: Register, block: Block, size: number | undefined): boolean {
  if (block.deleting || block.prefix.length !== size || !isReleasedByTime(block)) return false;
  if (register.isReserved(block.prefix)) return false;
  const old = `node/${block.nodeName}`;
  return register.claims.overlapping(block.prefix).every(({ owner }) => owner === old);
}

function byRest(a: Block, b: Block): number {
  return (b.restedSeconds ?? 0) - (a.restedSeconds ?? 0) || a.prefix.compare(b.prefix);
}

interface Note {
  reason: Reason;
  detail: string;
  family?: Family;
}

/** Why a pool may not cut new blocks at all, whatever is free in it. */
export function poolObstacle(register: Register, pool: Pool): Note | undefined {
  const problem = register.poolSet.problem(pool.name);
  if (problem !== undefined) return problem;
  if (pool.deleting)
    return { reason: 'PoolDisabled', detail: `pool ${pool.name} is being deleted` };
  if (pool.disabled) return { reason: 'PoolDisabled', detail: `pool ${pool.name} is disabled` };
  return undefined;
}

function tryPool(
  register: Register,
  pool: Pool,
  offers: readonly Family[],
  wanted: readonly Family[],
  held: ReadonlyArray<Holds>,
): { kind: 'cuts'; cuts: Cut[] } | { kind: 'note'; note: Note } {
  const obstacle = poolObstacle(register, pool);
  if (obstacle !== undefined) return { kind: 'note', note: obstacle };
  const elsewhere = offers.find(
    (family) =>
      !wanted.includes(family) &&
      !held.some(
        (block) =>
          block.prefix.family === family && register.poolSet.homeOf(block)?.name === pool.name,
      ),
  );
  if (elsewhere !== undefined) {
    const detail = `pool ${pool.name} serves both families or none, and the node has its ${elsewhere} from elsewhere`;
    return { kind: 'note', note: { reason: 'FamilyNotServed', detail } };
  }
  const cuts: Cut[] = [];
  for (const family of wanted) {
    const free = nextBlock(register, pool, family);
    const replaces = free === undefined ? lastResort(register, pool, family) : undefined;
    const prefix = free ?? replaces?.prefix;
    if (prefix === undefined) {
      const detail = `pool ${pool.name} has no free ${family} block${roomTakers(register, pool, family)}`;
      return { kind: 'note', note: { reason: 'PoolExhausted', detail } };
    }
    cuts.push({ prefix, pool: pool.name, guards: [], ...(replaces ? { replaces } : {}) });
  }
  return { kind: 'cuts', cuts };
}

/** A node that asks for ever more must leave room for the others. */
function limitReached(
  register: Register,
  pool: Pool,
  wanted: readonly Family[],
  held: ReadonlyArray<Holds>,
  byDemand: boolean,
): { kind: 'note'; note: Note } | undefined {
  for (const family of wanted) {
    const most = mostBlocksOfNode(pool, family, byDemand);
    const own = held.filter(({ prefix }) => prefix.family === family);
    if (own.length < most) continue;
    const ofPool = own.filter((block) => register.poolSet.homeOf(block)?.name === pool.name);
    if (ofPool.length < most) continue;
    const detail = `the node holds ${ofPool.length} ${family} blocks of pool ${pool.name}, as many as one node may (maxBlocksPerNode)`;
    return { kind: 'note', note: { reason: 'BlockLimitReached', detail } };
  }
  return undefined;
}

/** The reason that, once cured, gets the node served soonest comes first. */
const weight: Reason[] = [
  'PoolExhausted',
  'BlockLimitReached',
  'OverlappingPools',
  'OverlapsNetwork',
  'PoolDisabled',
  'FamilyNotServed',
];

function refusal(
  node: ClusterNode,
  family: Family,
  candidates: readonly Pool[],
  notes: readonly Note[],
): BlockRefusal {
  const concerning = notes.filter((note) => note.family === family);
  const reason = weight.find((word) => concerning.some((note) => note.reason === word));
  if (reason !== undefined) {
    return { family, reason, detail: detailOf(concerning) };
  }
  if (candidates.length === 0) {
    return { family, reason: 'NoPoolSelectsNode', detail: `no pool selects ${describe(node)}` };
  }
  const names = listNames(candidates.map((pool) => pool.name));
  const detail = `the pools that select ${node.name} (${names}) have no ${family} CIDR`;
  return { family, reason: 'FamilyNotServed', detail };
}

/** Most pools of a large site may be full: the first are named, the others counted. */
function detailOf(notes: readonly Note[]): string {
  const most = 5;
  const more = notes.length > most ? [`and ${notes.length - most} more pools`] : [];
  return [...notes.slice(0, most).map(({ detail }) => detail), ...more].join('; ');
}

function describe(node: ClusterNode): string {
  const labels = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  return labels.length === 0
    ? `${node.name}, which has no labels`
    : `${node.name} with labels ${labels.join(',')}`;
}
