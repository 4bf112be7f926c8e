import type { ClusterState } from '../../model/cluster-state.ts';
import { networksOfRange } from '../../model/load-balancer-networks.ts';
import { type Family, families, familyBits } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { mostBlocksOfNode } from '../blocks/claim-limits.ts';
import { evidenceOf } from '../doctor/evidence.ts';
import { survey } from '../doctor/survey.ts';

/** Prefixes that routers may take from nodes: within `prefix`, of these lengths. */
export interface PrefixFilter {
  prefix: Prefix;
  minLength: number;
  maxLength: number;
  /** Whose they are, for the comment: `pool rack-83`, `block of node1`, `Services`. */
  of: string;
  /** How many of them one node may announce. */
  mostOfNode: number;
}

/**
 * Exactly what nodes announce by right: blocks of the pools' own size, blocks that nodes hold
 * outside of them (adopted ones, other sizes), and addresses of Services. The same
 * questions as the doctor's, so that what it finds right is what routers let in.
 */
export function prefixFilters(state: ClusterState): Record<Family, PrefixFilter[]> {
  const { pools, blocks } = survey(evidenceOf(state, { nowMs: 0 }));
  const filters: PrefixFilter[] = pools
    .filter(({ disabled }) => !disabled)
    .flatMap((pool) =>
      pool.cidrs.map((prefix): PrefixFilter => {
        const length = Math.max(pool.blockSize[prefix.family] ?? prefix.length, prefix.length);
        const mostOfNode = mostBlocksOfNode(pool, prefix.family, true);
        return {
          prefix,
          minLength: length,
          maxLength: length,
          of: `pool ${pool.name}`,
          mostOfNode,
        };
      }),
    );
  for (const { prefix, node } of blocks) {
    if (filters.some((filter) => admits(filter, prefix))) continue;
    const { length } = prefix;
    filters.push({
      prefix,
      minLength: length,
      maxLength: length,
      of: `block of ${node}`,
      mostOfNode: 1,
    });
  }
  const services = state.loadBalancerNetworks;
  for (const prefix of services) {
    if (services.some((one) => one !== prefix && isAround(one, prefix, services))) continue;
    const host = familyBits(prefix.family);
    const minLength = Math.max(prefix.length, aggregateLength(state, prefix) ?? host);
    const mostOfNode = Math.min(2 ** Math.min(host - prefix.length, 12), mostServices);
    filters.push({ prefix, minLength, maxLength: host, of: 'Services', mostOfNode });
  }
  const of = (family: Family) =>
    filters
      .filter(({ prefix }) => prefix.family === family)
      .sort((a, b) => a.prefix.compare(b.prefix) || a.minLength - b.minLength);
  return Object.fromEntries(families.map((family) => [family, of(family)])) as Record<
    Family,
    PrefixFilter[]
  >;
}

/** A node announces a Service by one prefix each; more than so many no router expects of a node. */
const mostServices = 1_024;

export function admits({ prefix, minLength, maxLength }: PrefixFilter, one: Prefix): boolean {
  return prefix.contains(one) && one.length >= minLength && one.length <= maxLength;
}

/** Of two that are the same the first one stays. */
function isAround(other: Prefix, prefix: Prefix, all: readonly Prefix[]): boolean {
  if (!other.contains(prefix)) return false;
  return other.length < prefix.length || all.indexOf(other) < all.indexOf(prefix);
}

/** Shorter prefixes that a pool of Services is announced by. */
function aggregateLength({ servicePools }: ClusterState, prefix: Prefix): number | undefined {
  const lengths = servicePools
    .filter(({ ranges }) => ranges.flatMap(networksOfRange).some((one) => one.equals(prefix)))
    .flatMap(({ advertisements }) => advertisements.map(({ lengths }) => lengths[prefix.family]));
  return lengths.length === 0 ? undefined : Math.min(...lengths);
}
