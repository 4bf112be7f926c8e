import type { Family } from '../net/family.ts';
import { families, familyBits } from '../net/family.ts';
import { Prefix, parsePrefix, prefixProblem } from '../net/prefix.ts';
import { clusterPoolName } from './keys.ts';
import { type LabelSelector, selectorProblems, specificity } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  timestampMs,
} from './object.ts';

/** A pool as judgement sees it: parsed, canonical, free of API detail. */
export interface Pool extends Identity {
  generation: number;
  createdMs: number;
  cidrs: readonly Prefix[];
  blockSize: Readonly<Partial<Record<Family, number>>>;
  selector: LabelSelector | undefined;
  specificity: number;
  priority: number;
  reserved: readonly Prefix[];
  disabled: boolean;
  deleting: boolean;
  cooldownSeconds: number;
  finalizers: readonly string[];
  status: PoolStatus | undefined;
}

export interface CidrUsage {
  cidr: string;
  capacity: number;
  assigned: number;
  free: number;
  cooling: number;
}

export interface PoolStatus {
  observedGeneration?: number;
  capacity?: number;
  assigned?: number;
  free?: number;
  cooling?: number;
  cidrs?: CidrUsage[];
  conditions?: Condition[];
}

/** How long a block rests after its node is gone, unless the pool says otherwise. */
export const defaultCooldownSeconds = 300;

/** Limits that the CRD states too, so that its CEL rules have a bounded cost. */
export const maxCidrs = 64;
export const maxReserved = 256;

export type ReadPool =
  | { kind: 'pool'; pool: Pool }
  | {
      kind: 'malformed';
      identity: Identity;
      generation: number;
      problems: string[];
      conditions: Condition[] | undefined;
    };

/**
 * Reads an IPPool. The API server checks the same things, but a file, an old
 * CRD or a server without CEL does not: a pool that cannot be understood serves
 * nothing and says why.
 */
export function readPool(object: KubeObject): ReadPool {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const problems: string[] = [];
  const cidrs = readCidrs(spec.cidrs, 'spec.cidrs', maxCidrs, problems);
  const reserved = readCidrs(spec.reserved ?? [], 'spec.reserved', maxReserved, problems);
  if (Array.isArray(spec.cidrs) && spec.cidrs.length === 0) problems.push('spec.cidrs is empty');
  const blockSize = readBlockSize(spec.blockSize, cidrs, problems);
  problems.push(...selectorProblems(spec.nodeSelector).map((p) => `spec.nodeSelector ${p}`));
  const priority = readInteger(spec.priority, 'spec.priority', 0, -1e9, 1e9, problems);
  const cooldownSeconds = readInteger(
    spec.cooldownSeconds,
    'spec.cooldownSeconds',
    defaultCooldownSeconds,
    0,
    1e9,
    problems,
  );
  overlapProblem(cidrs, problems);
  problems.push(...cidrs.flatMap((cidr) => unnameable(cidr) ?? []).map((p) => `spec.cidrs ${p}`));
  if (spec.disabled !== undefined && spec.disabled !== null && typeof spec.disabled !== 'boolean') {
    problems.push(`spec.disabled is ${JSON.stringify(spec.disabled)}, not true or false`);
  }
  const identity = identityOf(object);
  if (identity.name === '') problems.push('metadata.name is missing');
  const generation = object.metadata?.generation ?? 0;
  const status = (object.status ?? undefined) as PoolStatus | undefined;
  if (problems.length > 0) {
    const conditions = status?.conditions;
    return { kind: 'malformed', identity, generation, problems, conditions };
  }
  const selector = (spec.nodeSelector ?? undefined) as LabelSelector | undefined;
  return {
    kind: 'pool',
    pool: {
      ...identity,
      generation,
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      cidrs,
      blockSize,
      selector,
      specificity: specificity(selector),
      priority,
      reserved,
      disabled: spec.disabled === true,
      deleting: Boolean(object.metadata?.deletionTimestamp),
      cooldownSeconds,
      finalizers: object.metadata?.finalizers ?? [],
      status,
    },
  };
}

/** The pool of the cluster-pool modes is no object: it has no uid. */
export function isFromFlags(pool: Pool): boolean {
  return pool.uid === '' && pool.name === clusterPoolName;
}

export function poolFamilies(pool: Pool): Family[] {
  return families.filter((family) => pool.cidrs.some((cidr) => cidr.family === family));
}

const lowestIpv6 = Prefix.of({ family: 'ipv6', w0: 0, w1: 0, w2: 0, w3: 0 }, 16);

/**
 * Blocks within ::/16 (reserved, RFC 4291 §2.4) print with a colon in front,
 * and no Kubernetes name begins with the dash that would stand for it.
 */
export function unnameable(cidr: Prefix): string | undefined {
  if (!cidr.overlaps(lowestIpv6)) return undefined;
  return `${cidr} overlaps ${lowestIpv6}, whose blocks cannot be named`;
}

function readCidrs(value: unknown, where: string, most: number, problems: string[]): Prefix[] {
  if (!Array.isArray(value)) {
    problems.push(`${where} must be a list of CIDRs`);
    return [];
  }
  if (value.length > most) problems.push(`${where} has ${value.length} entries, more than ${most}`);
  const found: Prefix[] = [];
  value.forEach((text, at) => {
    const problem =
      typeof text === 'string' ? prefixProblem(text) : `${JSON.stringify(text)} is not a CIDR`;
    const prefix = problem === undefined ? parsePrefix(text) : undefined;
    if (prefix === undefined) problems.push(`${where}[${at}] ${problem}`);
    else found.push(prefix);
  });
  return found;
}

function readBlockSize(value: unknown, cidrs: readonly Prefix[], problems: string[]) {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const blockSize: Partial<Record<Family, number>> = {};
  for (const family of families) {
    const size = given[family];
    const widest = cidrs.filter((cidr) => cidr.family === family);
    if (size === undefined || size === null) {
      if (widest.length > 0) {
        problems.push(`spec.blockSize.${family} is missing, but spec.cidrs has ${widest[0]}`);
      }
      continue;
    }
    const bits = familyBits(family);
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 1 || size > bits) {
      problems.push(`spec.blockSize.${family} is ${JSON.stringify(size)}, not within 1 to ${bits}`);
      continue;
    }
    const tooSmall = widest.find((cidr) => cidr.length > size);
    if (tooSmall !== undefined) {
      problems.push(`spec.blockSize.${family} is /${size}, larger than the CIDR ${tooSmall}`);
    }
    blockSize[family] = size;
  }
  return blockSize;
}

function readInteger(
  value: unknown,
  where: string,
  byDefault: number,
  least: number,
  most: number,
  problems: string[],
): number {
  if (value === undefined || value === null) return byDefault;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) {
    return value;
  }
  problems.push(
    `${where} is ${JSON.stringify(value)}, not a whole number from ${least} to ${most}`,
  );
  return byDefault;
}

function overlapProblem(cidrs: readonly Prefix[], problems: string[]): void {
  cidrs.forEach((cidr, at) => {
    const earlier = cidrs.slice(0, at).find((other) => other.overlaps(cidr));
    if (earlier !== undefined) problems.push(`spec.cidrs[${at}] ${cidr} overlaps ${earlier}`);
  });
}
