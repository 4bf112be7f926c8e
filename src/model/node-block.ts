import type { Prefix } from '../net/prefix.ts';
import { parsePrefix } from '../net/prefix.ts';
import { apiVersion } from './keys.ts';
import { type Identity, identityOf, type KubeObject, timestampMs } from './object.ts';

/**
 * NodeBlock: the register's entry. Its name *is* its CIDR, so creating it is
 * the allocation: the API server refuses a second object of that name, and a
 * CEL rule refuses a name that is not its CIDR's.
 *
 * The phase lives in spec, not in status: it is the register's own fact, it
 * must be there from the first write (a create cannot set status), and one
 * write per block is all a mass join can afford.
 */
export type BlockPhase = 'Active' | 'Draining' | 'Cooling' | 'Guard';

export interface Block extends Identity {
  prefix: Prefix;
  pool: string;
  /** Empty name for a Guard, which belongs to no node. */
  nodeName: string;
  nodeUid: string;
  phase: BlockPhase;
  coolingSinceMs: number;
  /** Guard only: the odd-sized blocks inside this cell. */
  guards: readonly string[];
  createdMs: number;
  deleting: boolean;
}

export type ReadBlock =
  | { kind: 'block'; block: Block }
  | { kind: 'malformed'; identity: Identity; problem: string };

/** The object name of a block: `10.5.113.0/24` is `10-5-113-0-24`, `fd00::/64` is `fd00---64`. */
export function blockName(prefix: Prefix): string {
  return prefix.toString().replace(/[.:/]/g, '-');
}

export function readBlock(object: KubeObject): ReadBlock {
  const identity = identityOf(object);
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const prefix = typeof spec.cidr === 'string' ? parsePrefix(spec.cidr) : undefined;
  if (prefix === undefined) {
    const problem = `spec.cidr is ${JSON.stringify(spec.cidr)}, not a CIDR`;
    return { kind: 'malformed', identity, problem };
  }
  const node = (spec.node ?? {}) as { name?: string; uid?: string };
  return {
    kind: 'block',
    block: {
      ...identity,
      prefix,
      pool: typeof spec.pool === 'string' ? spec.pool : '',
      nodeName: node.name ?? '',
      nodeUid: node.uid ?? '',
      phase: readPhase(spec.phase),
      coolingSinceMs: timestampMs(spec.coolingSince as string | undefined),
      guards: Array.isArray(spec.guards) ? (spec.guards as string[]) : [],
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      deleting: Boolean(object.metadata?.deletionTimestamp),
    },
  };
}

function readPhase(value: unknown): BlockPhase {
  return value === 'Draining' || value === 'Cooling' || value === 'Guard' ? value : 'Active';
}

export interface NewBlock {
  prefix: Prefix;
  pool: string;
  nodeName: string;
  nodeUid: string;
}

export function writeBlock({ prefix, pool, nodeName, nodeUid }: NewBlock): KubeObject {
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: { name: blockName(prefix) },
    spec: { cidr: prefix.toString(), pool, node: { name: nodeName, uid: nodeUid } },
  };
}

export function writeGuard(cell: Prefix, pool: string, guards: string[]): KubeObject {
  return {
    apiVersion,
    kind: 'NodeBlock',
    metadata: { name: blockName(cell) },
    spec: { cidr: cell.toString(), pool, phase: 'Guard', guards },
  };
}
