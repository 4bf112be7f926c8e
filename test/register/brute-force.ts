/**
 * The slow truth about a small world, worked out from the objects themselves with
 * none of the code under test: every address of 10.0.0.0/24 and fd00::/120 is one
 * element of an array, a block is a run of them, and a question is a loop.
 */
import type { Labels } from '../../src/model/label-selector.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { Family } from '../../src/net/family.ts';
import type { ApiModel } from './api-model.ts';

export interface Run {
  world: 'ipv4' | 'ipv6' | 'elsewhere';
  from: number;
  to: number;
}

const runs = new Map<string, Run>();

/** The addresses of a CIDR, by the last octet or group: the world is that small. */
export function runOf(cidr: string): Run {
  const known = runs.get(cidr);
  if (known !== undefined) return known;
  const [address = '', length = ''] = cidr.split('/');
  const isV4 = !address.includes(':');
  const isHere = isV4 ? address.startsWith('10.0.0.') : /^fd00::[0-9a-f]{0,2}$/.test(address);
  const last = address.split(isV4 ? '.' : ':').at(-1) || '0';
  const from = Number.parseInt(last, isV4 ? 10 : 16);
  const count = 2 ** ((isV4 ? 32 : 128) - Number(length));
  const start = from - (from % count);
  const world = !isHere || count > 256 ? 'elsewhere' : isV4 ? 'ipv4' : 'ipv6';
  const run: Run = { world, from: start, to: start + count };
  runs.set(cidr, run);
  return run;
}

export function collide(a: string, b: string): boolean {
  const [x, y] = [runOf(a), runOf(b)];
  if (x.world !== y.world) return false;
  return x.world === 'elsewhere' ? a === b : x.from < y.to && y.from < x.to;
}

function isInside(narrow: string, wide: string): boolean {
  const [x, y] = [runOf(narrow), runOf(wide)];
  if (x.world !== y.world || x.world === 'elsewhere') return narrow === wide;
  return x.from >= y.from && x.to <= y.to;
}

interface Land {
  ipv4: Uint8Array;
  ipv6: Uint8Array;
}

function mark(land: Land, cidr: string): void {
  const { world, from, to } = runOf(cidr);
  if (world !== 'elsewhere') land[world].fill(1, from, to);
}

export interface PoolSpec {
  cidrs: string[];
  blockSize: { ipv4?: number; ipv6?: number };
  nodeSelector?: { matchLabels?: Record<string, string> };
  priority?: number;
  reserved?: string[];
  disabled?: boolean;
}

export const poolSpec = (pool: KubeObject) => pool.spec as PoolSpec;
export const familyOf = (cidr: string): Family => (cidr.includes(':') ? 'ipv6' : 'ipv4');
const nameOf = (object: KubeObject) => object.metadata?.name ?? '';

function isSelecting(pool: KubeObject, labels: Labels): boolean {
  const wanted = Object.entries(poolSpec(pool).nodeSelector?.matchLabels ?? {});
  return wanted.every(([key, value]) => labels[key] === value);
}

/** The families of all pools that select a node. */
export function offeredFamilies(api: ApiModel, labels: Labels): Set<Family> {
  const selecting = [...api.list('IPPool')].filter((pool) => isSelecting(pool, labels));
  return new Set(selecting.flatMap((pool) => poolSpec(pool).cidrs.map(familyOf)).sort());
}

/** The pool that a block lies in: the one it names if that is so, else a sound one, else any. */
export function poolAround(api: ApiModel, { cidr, pool }: Held): string {
  const isAround = (one: KubeObject | undefined) =>
    one !== undefined && poolSpec(one).cidrs.some((wide) => isInside(cidr, wide));
  if (isAround(api.get('IPPool', pool))) return pool;
  const found = [...soundPools(api), ...byAge(api.list('IPPool'))].find(isAround);
  return found === undefined ? '' : nameOf(found);
}

function byAge(pools: Iterable<KubeObject>): KubeObject[] {
  const age = (pool: KubeObject) => Date.parse(pool.metadata?.creationTimestamp ?? '');
  return [...pools].sort((a, b) => age(a) - age(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** Pools that overlap no older one that may serve. */
export function soundPools(api: ApiModel): KubeObject[] {
  const sound: KubeObject[] = [];
  for (const pool of byAge(api.list('IPPool'))) {
    const isClear = sound.every((other) =>
      poolSpec(pool).cidrs.every((a) => poolSpec(other).cidrs.every((b) => !collide(a, b))),
    );
    if (isClear) sound.push(pool);
  }
  return sound;
}

/** What the records of all nodes speak of. */
function recorded(api: ApiModel): string[] {
  const held: string[] = [];
  for (const node of api.list('Node')) {
    held.push(...((node.spec as { podCIDRs?: string[] }).podCIDRs ?? []));
    held.push(...Object.values(node.metadata?.annotations ?? {}));
  }
  for (const cilium of api.list('CiliumNode')) {
    held.push(...((cilium.spec as { ipam: { podCIDRs?: string[] } }).ipam.podCIDRs ?? []));
  }
  return held;
}

/** A record of more than a block of the oldest pool around it, or of a whole pool and more, is no claim. */
function isTooLarge(api: ApiModel, cidr: string): boolean {
  const touched = byAge(api.list('IPPool')).filter((pool) =>
    poolSpec(pool).cidrs.some((one) => collide(one, cidr)),
  );
  const around = touched.find((pool) => poolSpec(pool).cidrs.some((one) => isInside(cidr, one)));
  if (around === undefined) return touched.length > 0;
  return Number(cidr.split('/')[1]) < (poolSpec(around).blockSize[familyOf(cidr)] ?? 0);
}

/** Everything any object speaks of as held: blocks, guards, and every record of every node. */
export function heldCidrs(api: ApiModel): string[] {
  const blocks = [...api.list('NodeBlock')].map(({ spec }) => (spec as { cidr: string }).cidr);
  return [...blocks, ...recorded(api).filter((cidr) => !isTooLarge(api, cidr))];
}

/** The land as it is: 1 where anything is held, plus what one pool reserves. */
function landOf(held: readonly string[], reserved: readonly string[] = []): Land {
  const land: Land = { ipv4: new Uint8Array(256), ipv6: new Uint8Array(256) };
  for (const cidr of held) mark(land, cidr);
  for (const cidr of reserved) mark(land, cidr);
  return land;
}

/** The free cells of a CIDR, lowest first. */
function freeCells(land: Land, cidr: string, size: number): string[] {
  const { world, from, to } = runOf(cidr);
  if (world === 'elsewhere') return [];
  const step = 2 ** ((world === 'ipv4' ? 32 : 128) - size);
  const free: string[] = [];
  for (let at = from; at < to; at += step) {
    if (land[world].subarray(at, at + step).includes(1)) continue;
    const low = world === 'ipv4' ? `10.0.0.${at}` : `fd00::${at === 0 ? '' : at.toString(16)}`;
    free.push(`${low}/${size}`);
  }
  return free;
}

export function countFree(api: ApiModel, pool: KubeObject): number {
  const { cidrs, blockSize, reserved } = poolSpec(pool);
  const land = landOf(heldCidrs(api), reserved);
  return cidrs.reduce((n, c) => n + freeCells(land, c, blockSize[familyOf(c)] ?? 0).length, 0);
}

export interface Held {
  cidr: string;
  /** The pool it lies in. */
  pool: string;
}

/** Which blocks a node that holds `held` must get for the families it lacks, by plain search. */
export function expectedCuts(
  api: ApiModel,
  labels: Labels,
  held: readonly Held[],
  lacks: ReadonlySet<Family>,
): Held[] {
  const missing = new Set(lacks);
  const sound = new Set(soundPools(api).map(nameOf));
  const taken = [...heldCidrs(api), ...held.map(({ cidr }) => cidr)];
  const cuts: Held[] = [];
  const rank = (pool: KubeObject) =>
    [
      -(poolSpec(pool).priority ?? 0),
      -Object.keys(poolSpec(pool).nodeSelector?.matchLabels ?? {}).length,
      nameOf(pool),
    ] as const;
  const selecting = [...api.list('IPPool')]
    .filter((pool) => isSelecting(pool, labels))
    .sort((a, b) => {
      const [x, y] = [rank(a), rank(b)];
      return x[0] - y[0] || x[1] - y[1] || (x[2] < y[2] ? -1 : 1);
    });
  for (const pool of selecting) {
    const { cidrs, blockSize, reserved, disabled } = poolSpec(pool);
    if (!sound.has(nameOf(pool)) || disabled || pool.metadata?.deletionTimestamp) continue;
    const offers = [...new Set(cidrs.map(familyOf))].sort();
    const wanted = offers.filter((family) => missing.has(family));
    const isSplit = offers.some(
      (family) =>
        !wanted.includes(family) &&
        !held.some((one) => one.pool === nameOf(pool) && familyOf(one.cidr) === family),
    );
    if (wanted.length === 0 || isSplit) continue;
    const land = landOf(taken, reserved);
    // What is claimed in vain comes last: pods may live there.
    const unclaimed = landOf([...taken, ...recorded(api)], reserved);
    const found = wanted.map(
      (family) =>
        [unclaimed, land].flatMap((free) =>
          cidrs
            .filter((cidr) => familyOf(cidr) === family)
            .flatMap((cidr) => freeCells(free, cidr, blockSize[family] ?? 0)),
        )[0],
    );
    if (found.includes(undefined)) continue;
    for (const family of wanted) missing.delete(family);
    cuts.push(...found.map((cidr) => ({ cidr: cidr ?? '', pool: nameOf(pool) })));
  }
  return cuts;
}
