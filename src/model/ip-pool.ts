import { type Family, families } from '../net/family.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { ipPoolSpec } from './ip-pool-schema.ts';
import { clusterPoolName } from './keys.ts';
import { type LabelSelector, specificity } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  timestampMs,
} from './object.ts';
import { schemaProblems, withDefaults } from './schema/schema-problems.ts';

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
  /** Absent: only where the node never had an agent (`releaseByTimeDefaultSeconds`). 0: never. */
  releaseByTimeSeconds?: number;
  /** Of one family. Absent: `mostBlocksOfNode` says how many. */
  maxBlocksPerNode?: number;
  finalizers: readonly string[];
  status: PoolStatus | undefined;
}

export interface CidrUsage {
  cidr: string;
  capacity: number;
  assigned: number;
  free: number;
  cooling: number;
  /** Absent in the status that an earlier version wrote. */
  awaitingRelease?: number;
}

export interface PoolStatus {
  observedGeneration?: number;
  capacity?: number;
  assigned?: number;
  free?: number;
  cooling?: number;
  awaitingRelease?: number;
  cidrs?: CidrUsage[];
  conditions?: Condition[];
}

/** When a node that never had an agent loses its blocks by time alone, unless the pool says otherwise. */
export const releaseByTimeDefaultSeconds = 3_600;

/** How long a block is kept unused after its node is gone, unless the pool says otherwise. */
export const defaultCooldownSeconds = ipPoolSpec.properties.cooldownSeconds.default;

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
  const identity = identityOf(object);
  const problems = schemaProblems(ipPoolSpec, object.spec, 'spec');
  if (identity.name === '') problems.push('metadata.name is missing');
  const generation = object.metadata?.generation ?? 0;
  const status = (object.status ?? undefined) as PoolStatus | undefined;
  if (problems.length > 0) {
    const conditions = status?.conditions;
    return { kind: 'malformed', identity, generation, problems, conditions };
  }
  const spec = withDefaults(ipPoolSpec, object.spec);
  const { ipv4, ipv6 } = spec.blockSize;
  const selector = spec.nodeSelector as LabelSelector | undefined;
  return {
    kind: 'pool',
    pool: {
      ...identity,
      generation,
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      cidrs: spec.cidrs.map((cidr) => parsePrefix(cidr)!),
      blockSize: { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) },
      selector,
      specificity: specificity(selector),
      priority: spec.priority,
      reserved: (spec.reserved ?? []).map((cidr) => parsePrefix(cidr)!),
      disabled: spec.disabled,
      deleting: Boolean(object.metadata?.deletionTimestamp),
      cooldownSeconds: spec.cooldownSeconds,
      ...(spec.releaseByTimeSeconds == null
        ? {}
        : { releaseByTimeSeconds: spec.releaseByTimeSeconds }),
      ...(spec.maxBlocksPerNode == null ? {} : { maxBlocksPerNode: spec.maxBlocksPerNode }),
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
