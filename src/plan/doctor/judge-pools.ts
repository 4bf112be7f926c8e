import { addToGroup } from '../../base/add-to-group.ts';
import { listNames, plural } from '../../base/count-text.ts';
import { cure } from '../../model/cures.ts';
import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { type LabelSelector, type Labels, selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { type Family, families } from '../../net/family.ts';
import { isAwaitingRelease, isReleasedByTime } from '../blocks/block-life.ts';
import { differenceCure, poolDifferences } from '../cilium/pod-pools.ts';
import { forecastOf, type PoolForecast } from '../pools/pool-forecast.ts';
import { compareText, PoolSet } from '../pools/pool-set.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey } from './survey.ts';

/** Pools that run out, nodes that no pool is for, and pools that Cilium knows otherwise. */
export function judgePools(survey: Survey): DoctorFinding[] {
  if (survey.pools.length === 0) return [];
  const poolSet = new PoolSet(survey.pools);
  const facts = factsOf(survey, poolSet);
  return [
    ...survey.pools.flatMap((pool) =>
      poolFamilies(pool).flatMap((family) => nearlyFull(facts, pool, family)),
    ),
    ...unselected(survey, poolSet),
    ...differing(survey),
  ];
}

/** How much room a pool has in one family, and for how long at the pace of the last month. */
export interface PoolRoom {
  pool: string;
  family: Family;
  capacity: number;
  free: number;
  /** Absent: it does not grow, or is too young to tell. */
  daysLeft?: number;
  forecast?: string;
}

/** The pools that run out first come first. */
export function poolRooms(survey: Survey): PoolRoom[] {
  if (survey.pools.length === 0) return [];
  const facts = factsOf(survey, new PoolSet(survey.pools));
  const rooms = survey.pools.flatMap((pool) =>
    poolFamilies(pool).map((family): PoolRoom => {
      const { capacity, free, forecast } = roomOf(facts, pool, family);
      const grows = forecast && { daysLeft: forecast.days, forecast: forecastText(forecast) };
      return { pool: pool.name, family, capacity, free, ...grows };
    }),
  );
  const days = ({ daysLeft }: PoolRoom) => daysLeft ?? Number.POSITIVE_INFINITY;
  const share = ({ free, capacity }: PoolRoom) => (capacity === 0 ? 1 : free / capacity);
  return rooms.sort((a, b) => {
    const [x, y] = [days(a), days(b)];
    return x === y ? share(a) - share(b) || compareText(a.pool, b.pool) : x - y;
  });
}

/** What is asked for every pool, looked up once for all of them. */
interface PoolFacts {
  nowMs: number;
  taken: ClaimIndex<number>;
  /** When the nodes joined that have a block of the family in the pool, by pool. */
  joined: Record<Family, ReadonlyMap<Pool, number[]>>;
  /** Nodes without a block of the family. */
  unserved: Record<Family, readonly ClusterNode[]>;
  /** Blocks that nobody may use yet, by the pool they belong to. */
  awaiting: ReadonlyMap<Pool, readonly Block[]>;
}

function factsOf(survey: Survey, poolSet: PoolSet): PoolFacts {
  const places = new ClaimIndex<Pool>();
  for (const pool of survey.pools) for (const cidr of pool.cidrs) places.record(cidr, pool);
  const joined = { ipv4: new Map<Pool, number[]>(), ipv6: new Map<Pool, number[]>() };
  const unserved: Record<Family, ClusterNode[]> = { ipv4: [], ipv6: [] };
  for (const { node, blocks } of survey.nodes.values()) {
    for (const family of families) {
      const own = blocks.filter(({ prefix }) => prefix.family === family);
      if (own.length === 0) unserved[family].push(node);
      if (node.createdMs <= 0) continue;
      const around = own.flatMap(({ prefix }) => places.around(prefix).map(({ owner }) => owner));
      for (const pool of new Set(around)) addToGroup(joined[family], pool, node.createdMs);
    }
  }
  const awaiting = new Map<Pool, Block[]>();
  for (const block of survey.evidence.blocks) {
    const pool = poolSet.homeOf(block);
    if (pool === undefined || !isAwaitingRelease(block, pool.cooldownSeconds)) continue;
    addToGroup(awaiting, pool, block);
  }
  return { nowMs: survey.evidence.nowMs, taken: takenSpace(survey), joined, unserved, awaiting };
}

/** Everything that cannot be cut any more: blocks of nodes, cooling ones, guards, what is reserved, blocks around addresses of nodes. */
function takenSpace({ blocks, nodes, evidence, pools }: Survey): ClaimIndex<number> {
  const taken = new ClaimIndex<number>();
  for (const { claims } of nodes.values()) {
    for (const { kind, prefix } of claims.kept) if (kind === 'address') taken.record(prefix, 0);
  }
  for (const { prefix } of blocks) taken.record(prefix, 0);
  for (const block of evidence.blocks) {
    if (!isReleasedByTime(block)) taken.record(block.prefix, 0);
  }
  for (const { reserved } of pools) for (const prefix of reserved) taken.record(prefix, 0);
  return taken;
}

/** A tenth is left, or it will be gone in a fortnight: both leave time for a change request. */
const fewestShare = 0.1;
const soonDays = 14;

function nearlyFull(facts: PoolFacts, pool: Pool, family: Family): DoctorFinding[] {
  const { capacity, free, forecast } = roomOf(facts, pool, family);
  const isFew = free <= capacity * fewestShare;
  if (!isFew && (forecast === undefined || forecast.days > soonDays)) return [];
  const waiting = facts.unserved[family]
    .filter(({ labels }) => selects(pool.selector, labels))
    .map(({ name }) => name);
  const isFull = free === 0;
  const awaiting = (facts.awaiting.get(pool) ?? []).filter(
    ({ prefix }) => prefix.family === family,
  );
  return [
    finding('PoolNearlyFull', waiting.length > 0 && isFull ? 'critical' : 'warning', {
      prefix: pool.cidrs.filter((cidr) => cidr.family === family).join(', '),
      says: {
        pool: pool.name,
        free: `${free} of ${capacity} ${family} blocks of /${pool.blockSize[family]}`,
        ...(forecast === undefined ? {} : { forecast: forecastText(forecast) }),
        ...(awaiting.length > 0 ? { 'awaiting release': awaitingText(awaiting) } : {}),
        ...(waiting.length > 0 ? { waiting: listNames(waiting) } : {}),
      },
      hurts: {
        now: isFull ? waiting : [],
        if: [{ event: `add-nodes ${free + 1}`, nodes: [], prefixes: [] }],
      },
      fix:
        awaiting.length > 0
          ? cure(
              'GrowPool',
              `add a CIDR to pool ${pool.name}, or release blocks whose machines are off: cadastre blocks release`,
            )
          : cure('GrowPool', `add a CIDR to pool ${pool.name} while it still has room`),
    }),
  ];
}

function roomOf(facts: PoolFacts, pool: Pool, family: Family) {
  const size = pool.blockSize[family] ?? 0;
  let [capacity, free] = [0, 0];
  for (const cidr of pool.cidrs) {
    if (cidr.family !== family) continue;
    capacity += cidr.countOf(size);
    free += facts.taken.countFree(cidr, size);
  }
  const forecast = forecastOf(facts.joined[family].get(pool) ?? [], facts.nowMs, free);
  return { capacity, free, forecast };
}

function forecastText({ days, joined, overDays }: PoolForecast): string {
  return `full in ${plural(days, 'day')}, as ${plural(joined, 'node')} joined in ${Math.round(overDays)} days`;
}

/** They are no room until somebody speaks: the forecast counts without them, and says so. */
function awaitingText(blocks: readonly Block[]): string {
  const nodes = [...new Set(blocks.map(({ nodeName }) => nodeName))].sort();
  return `${plural(blocks.length, 'block')} of ${listNames(nodes)}, not counted as free`;
}

/** In mode multi-pool the IPPool and the CiliumPodIPPool of one name are one pool. */
function differing({ truth, pools, evidence }: Survey): DoctorFinding[] {
  if (!truth.mode.isPooledByCilium) return [];
  return poolDifferences(pools, evidence.ciliumPodPools ?? []).map((one) =>
    finding('PoolsDiffer', 'warning', {
      prefix: one.outside.join(', '),
      says: {
        IPPool: `${one.pool.name} has ${one.pool.cidrs.join(', ')}`,
        CiliumPodIPPool: `${one.theirs.name} has ${one.theirs.cidrs.join(', ')}`,
      },
      fix: differenceCure(one),
    }),
  );
}

/** One finding for all nodes that look the same to the selectors. */
function unselected(survey: Survey, poolSet: PoolSet): DoctorFinding[] {
  if (!survey.truth.mode.selectsNodes || survey.pools.length === 0) return [];
  const keys = [...new Set(survey.pools.flatMap((pool) => selectorKeys(pool.selector)))].sort();
  const groups = new Map<string, string[]>();
  for (const [name, { node }] of survey.nodes) {
    if (!poolSet.selecting(node.labels).next().done) continue;
    const group = labelsText(node.labels, keys);
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .map(([labels, names]) => {
      const without = names.filter((name) => survey.nodes.get(name)?.blocks.length === 0);
      return finding('NoPoolForGroup', without.length > 0 ? 'critical' : 'warning', {
        node: names[0] ?? null,
        says: {
          labels,
          nodes: listNames(names),
          pools: listNames(survey.pools.map(({ name }) => name).sort()),
        },
        hurts: hurtsNow(...without),
        fix: cure(
          'MakePoolForGroup',
          `make a pool whose nodeSelector matches ${labels}, or label the nodes for one that exists`,
        ),
      });
    });
}

function selectorKeys(selector: LabelSelector | undefined): string[] {
  return [
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key),
  ];
}

function labelsText(labels: Labels, keys: readonly string[]): string {
  const said = keys.map((key) => {
    const value = labels[key];
    return value === undefined ? `no ${key}` : `${key}=${value}`;
  });
  return said.join(', ');
}
