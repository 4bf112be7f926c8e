import { listNames, plural } from '../../base/count-text.ts';
import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import type { LabelSelector, Labels } from '../../model/label-selector.ts';
import type { Block } from '../../model/node-block.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Family } from '../../net/family.ts';
import { isAwaitingRelease, isReleasedByTime } from '../blocks/block-life.ts';
import { compareText, PoolSet } from '../pools/pool-set.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey } from './survey.ts';

/** Pools that run out, and nodes that no pool is for. */
export function judgePools(survey: Survey): DoctorFinding[] {
  if (survey.pools.length === 0) return [];
  const poolSet = new PoolSet(survey.pools);
  const taken = takenSpace(survey);
  return [
    ...survey.pools.flatMap((pool) =>
      poolFamilies(pool).flatMap((family) => nearlyFull(survey, poolSet, taken, pool, family)),
    ),
    ...unselected(survey, poolSet),
  ];
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

function nearlyFull(
  survey: Survey,
  poolSet: PoolSet,
  taken: ClaimIndex<number>,
  pool: Pool,
  family: Family,
): DoctorFinding[] {
  const size = pool.blockSize[family] ?? 0;
  let [capacity, free] = [0, 0];
  for (const cidr of pool.cidrs) {
    if (cidr.family !== family) continue;
    capacity += cidr.countOf(size);
    free += taken.countFree(cidr, size);
  }
  const forecast = forecastOf(survey, pool, family, free);
  const isFew = free <= capacity * fewestShare;
  if (!isFew && (forecast === undefined || forecast.days > soonDays)) return [];
  const waiting = [...survey.nodes.values()]
    .filter(({ blocks, node }) => {
      const isServed = blocks.some(({ prefix }) => prefix.family === family);
      return !isServed && poolSet.selecting(node.labels).includes(pool);
    })
    .map(({ node }) => node.name);
  const isFull = free === 0;
  const awaiting = survey.evidence.blocks.filter(
    (block) =>
      block.prefix.family === family &&
      poolSet.homeOf(block) === pool &&
      isAwaitingRelease(block, pool.cooldownSeconds),
  );
  return [
    finding('PoolNearlyFull', waiting.length > 0 && isFull ? 'critical' : 'warning', {
      prefix: pool.cidrs.filter((cidr) => cidr.family === family).join(', '),
      says: {
        pool: pool.name,
        free: `${free} of ${capacity} ${family} blocks of /${pool.blockSize[family]}`,
        ...(forecast === undefined ? {} : { forecast: forecast.text }),
        ...(awaiting.length > 0 ? { 'awaiting release': awaitingText(awaiting) } : {}),
        ...(waiting.length > 0 ? { waiting: listNames(waiting) } : {}),
      },
      hurts: {
        now: isFull ? waiting : [],
        if: [{ event: `add-nodes ${free + 1}`, nodes: [], prefixes: [] }],
      },
      fix:
        awaiting.length > 0
          ? `add a CIDR to pool ${pool.name}, or release blocks whose machines are off: cadastre blocks release`
          : `add a CIDR to pool ${pool.name} while it still has room`,
    }),
  ];
}

/** They are no room until somebody speaks: the forecast counts without them, and says so. */
function awaitingText(blocks: readonly Block[]): string {
  const nodes = [...new Set(blocks.map(({ nodeName }) => nodeName))].sort();
  return `${plural(blocks.length, 'block')} of ${listNames(nodes)}, not counted as free`;
}

const dayMs = 86_400_000;
const windowDays = 30;
/** A cluster that is being built grows as it never will again: nothing is foretold from that. */
const youngDays = 7;

/** By the nodes that joined in the last thirty days, at the same pace. */
function forecastOf(
  survey: Survey,
  pool: Pool,
  family: Family,
  free: number,
): { days: number; text: string } | undefined {
  const { nowMs } = survey.evidence;
  const since = [...survey.nodes.values()]
    .filter(({ blocks, node }) => {
      if (node.createdMs <= 0) return false;
      return blocks.some(
        ({ prefix }) =>
          prefix.family === family && pool.cidrs.some((cidr) => cidr.contains(prefix)),
      );
    })
    .map(({ node }) => node.createdMs);
  if (since.length === 0) return undefined;
  const ageDays = (nowMs - since.reduce((a, b) => Math.min(a, b))) / dayMs;
  if (ageDays < youngDays) return undefined;
  // The cluster's first day is its building, not its growth.
  const firstDayMs = since.reduce((a, b) => Math.min(a, b)) + dayMs;
  const days = Math.min(windowDays, ageDays - 1);
  const fromMs = Math.max(nowMs - days * dayMs, firstDayMs);
  const joined = since.filter((ms) => ms >= fromMs).length;
  if (joined === 0) return undefined;
  const perDay = joined / days;
  const left = Math.floor(free / perDay);
  return {
    days: left,
    text: `full in ${plural(left, 'day')}, as ${plural(joined, 'node')} joined in ${Math.round(days)} days`,
  };
}

/** One finding for all nodes that look the same to the selectors. */
function unselected(survey: Survey, poolSet: PoolSet): DoctorFinding[] {
  if (!survey.truth.mode.selectsNodes || survey.pools.length === 0) return [];
  const keys = [...new Set(survey.pools.flatMap((pool) => selectorKeys(pool.selector)))].sort();
  const groups = new Map<string, string[]>();
  for (const [name, { node }] of survey.nodes) {
    if (poolSet.selecting(node.labels).length > 0) continue;
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
        fix: `make a pool whose nodeSelector matches ${labels}, or label the nodes for one that exists`,
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
