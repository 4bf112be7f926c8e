import { nodeNetworks } from '../../model/network.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { ClaimLimits, Kept, Refused } from './claim-limits.ts';
import {
  type HoldingSource,
  type Holdings,
  isRestOf,
  recordedHoldings,
  usedHoldings,
} from './holdings.ts';

/** A claim of a node that no NodeBlock stands behind. */
export interface UnregisteredClaim {
  prefix: Prefix;
  /**
   * node: its own. shadow: of a less trusted record. pooled: of Cilium's multi-pool.
   * address: where one of its addresses is.
   */
  kind: 'node' | 'shadow' | 'pooled' | 'address';
  source: HoldingSource | 'address';
}

/** Everything that one node claims, and what of it is more than one node may. */
export interface NodeClaims {
  /** Its NodeBlocks, and what is being written for it. */
  registered: readonly Prefix[];
  kept: ReadonlyArray<Kept<UnregisteredClaim>>;
  refused: ReadonlyArray<Refused<UnregisteredClaim>>;
}

export interface ClaimingNode {
  node: ClusterNode | undefined;
  blocks: readonly Block[];
  pending: readonly Prefix[];
  holdings: Holdings;
  /** What the report of a former Node of the name uses. */
  formerUses: readonly Prefix[];
}

/** The claims of one node's name. Records count in the order of trust; its addresses by themselves. */
export function nodeClaims(limits: ClaimLimits, claiming: ClaimingNode): NodeClaims {
  const registered = new Map<string, Prefix>();
  for (const { prefix } of claiming.blocks) registered.set(prefix.toString(), prefix);
  for (const prefix of claiming.pending) registered.set(prefix.toString(), prefix);
  const records = limits.judge(registered.values(), recordClaims(claiming, registered));
  const { pooled: given, adoptsPooled } = claiming.holdings;
  const pooled = (adoptsPooled ? [] : given)
    .filter((prefix) => !registered.has(prefix.toString()) && !isVast(prefix))
    .slice(0, mostPooled)
    .map((prefix) => ({
      ...({ prefix, kind: 'pooled', source: 'pools' } as const),
      isInPool: limits.poolAt(prefix) !== undefined,
    }));
  const around = limits.judge([], addressClaims(claiming.node));
  return {
    registered: [...registered.values()],
    kept: [...records.kept, ...pooled, ...around.kept],
    refused: [...records.refused, ...around.refused],
  };
}

/**
 * A pool's own limits do not fit: multi-pool gives many small blocks. These are more than
 * a node's pods can fill, and still cannot stop a pool (decision 33).
 */
const mostPooled = 256;
const vastest = { ipv4: 20, ipv6: 56 } as const;

function isVast({ family, length }: Prefix): boolean {
  return length < vastest[family];
}

const addressesOf = new WeakMap<ClusterNode, UnregisteredClaim[]>();

/** Read once for each version of a Node: a node is looked at far more often than it moves. */
function addressClaims(node: ClusterNode | undefined): UnregisteredClaim[] {
  if (node === undefined) return [];
  const known = addressesOf.get(node);
  if (known !== undefined) return known;
  const claims = nodeNetworks(node).map(
    ({ prefix }): UnregisteredClaim => ({ prefix, kind: 'address', source: 'address' }),
  );
  addressesOf.set(node, claims);
  return claims;
}

function recordClaims(
  { node, blocks, holdings, formerUses }: ClaimingNode,
  registered: ReadonlyMap<string, Prefix>,
): UnregisteredClaim[] {
  const claims = new Map<string, UnregisteredClaim>();
  const add = (prefix: Prefix, kind: 'node' | 'shadow', source: HoldingSource) => {
    const key = prefix.toString();
    if (!registered.has(key) && !claims.has(key)) claims.set(key, { prefix, kind, source });
  };
  if (node !== undefined) {
    for (const prefix of usedHoldings(holdings)) add(prefix, 'node', 'report');
    if (holdings.adoptsPooled) {
      for (const prefix of holdings.pooled) add(prefix, 'node', 'pools');
    }
    const live = blocks.filter((block) => block.phase !== 'Cooling');
    for (const family of families) {
      const { source, prefixes } = recordedHoldings(holdings, family);
      if (isRestOf(prefixes, live)) for (const prefix of prefixes) add(prefix, 'node', source);
    }
  }
  for (const prefix of formerUses) add(prefix, 'shadow', 'report');
  for (const [source, found] of [...holdings.bySource, ...holdings.compared]) {
    for (const prefix of [...found.ipv4, ...found.ipv6]) add(prefix, 'shadow', source);
  }
  return [...claims.values()];
}
