import { addToGroup } from '../../base/add-to-group.ts';
import { listNames, plural } from '../../base/count-text.ts';
import { type Cure, cure } from '../../model/cures.ts';
import { isFromFlags, type Pool } from '../../model/ip-pool.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { cellOf, mostBlocksOfNode, type Refused } from './claim-limits.ts';
import type { Finding } from './finding.ts';
import { sourceNames } from './holdings.ts';
import type { UnregisteredClaim } from './node-claims.ts';
import type { Register } from './register.ts';

/**
 * What is said about claims that no NodeBlock stands behind: those that are refused,
 * addresses of nodes inside pools, and who else takes the room of a full pool.
 */

/** Claims of one node that are more than a node may hold: who, what, by which record, what to do. */
export function refusedClaimFindings(
  register: Register,
  node: string,
  kind: UnregisteredClaim['kind'],
): Finding[] {
  const { refused } = register.claimsOf(node);
  return refusedGroups(refused.filter((claim) => claim.kind === kind)).map((claims) => ({
    reason: 'ClaimRefused',
    nodes: [node],
    cidr: prefixesText(claims),
    detail: `${refusedText(node, claims)} ${refusedCause(claims, register.limits.byDemand)}; not adopted, and kept from nobody else: ${refusedCure(claims)}`,
  }));
}

type RefusedClaims = ReadonlyArray<Refused<UnregisteredClaim>>;

/** What one record claims in vain of one pool is one finding, be it a thousand blocks. */
export function refusedGroups(refused: RefusedClaims): RefusedClaims[] {
  const groups = new Map<string, Array<Refused<UnregisteredClaim>>>();
  for (const claim of refused) {
    const { source, because, pool, prefix } = claim;
    addToGroup(groups, [source, because, pool.name, prefix.family].join(' '), claim);
  }
  return [...groups.values()];
}

export function prefixesText(claims: RefusedClaims): string {
  return listNames(
    claims.map(({ prefix, kind }) => `${kind === 'address' ? prefix.first() : prefix}`),
    3,
  );
}

/** `10.0.0.0/8 of node1 (by Node.spec.podCIDRs)`. */
export function refusedText(node: string, claims: RefusedClaims): string {
  return `${prefixesText(claims)} of ${node} (by ${sourceText(claims[0]!.source)})`;
}

export function sourceText(source: UnregisteredClaim['source']): string {
  return source === 'address' ? 'Node.status.addresses' : sourceNames[source];
}

export function refusedCause([claim]: RefusedClaims, byDemand: boolean): string {
  const { prefix, pool, because } = claim!;
  if (because === 'size') {
    return `is larger than a /${pool.blockSize[prefix.family]} block of pool ${pool.name}`;
  }
  const most = plural(mostBlocksOfNode(pool, prefix.family, byDemand), 'block');
  return `is more than the ${most} that one node may have of pool ${pool.name}`;
}

export function refusedCure([claim]: RefusedClaims): Cure {
  const { source, because } = claim!;
  if (source === 'address') {
    return cure('RaiseMaxBlocks', 'reserve its block in the pool, or raise its maxBlocksPerNode');
  }
  if (because === 'count') {
    return cure('RaiseMaxBlocks', 'correct that record, or raise maxBlocksPerNode of the pool');
  }
  return cure(
    'CorrectClaim',
    'correct or remove that record; if pods live there, move the node (cadastre migrate plan)',
  );
}

/** Addresses of a node inside pool objects. The range in the flags may lie around all nodes. */
export function addressFindings(register: Register, nodeName: string): Finding[] {
  const cells = new Map<string, { address: Prefix; pool: Pool }>();
  for (const { prefix: address, kind } of register.claimsOf(nodeName).kept) {
    const pool = kind === 'address' ? register.limits.poolAt(address)?.pool : undefined;
    if (pool === undefined || isFromFlags(pool) || isReserved(pool, address)) continue;
    const cell = cellOf(address, pool).toString();
    if (!cells.has(cell)) cells.set(cell, { address, pool });
  }
  const found = [...cells].map(([cidr, { address, pool }]): Finding => {
    const detail = `address ${address.first()} of ${nodeName} lies in pool ${pool.name}: the block around it, ${cidr}, is given to no node; reserve it in the pool, or take it out of its cidrs`;
    return { reason: 'OverlapsNetwork', nodes: [nodeName], cidr, detail };
  });
  return [...found, ...refusedClaimFindings(register, nodeName, 'address')];
}

export function isReserved({ reserved }: Pool, prefix: Prefix): boolean {
  return reserved.length > 0 && PrefixSet.of(reserved).covers(prefix);
}

/** Who takes room of a full pool without a NodeBlock, in words that follow on "no free block". */
export function roomTakers(register: Register, pool: Pool, family: Family): string {
  const names = { records: new Set<string>(), addresses: new Set<string>() };
  for (const cidr of pool.cidrs) {
    if (cidr.family !== family) continue;
    for (const { owner } of register.unregistered.overlapping(cidr)) {
      const slash = owner.indexOf('/');
      const isAddress = owner.slice(0, slash) === 'address';
      names[isAddress ? 'addresses' : 'records'].add(owner.slice(slash + 1));
    }
  }
  const list = (all: Set<string>) => listNames([...all].sort());
  return [
    names.records.size > 0 ? `; records of ${list(names.records)} claim blocks of it` : '',
    names.addresses.size > 0 ? `; addresses of ${list(names.addresses)} lie in it` : '',
  ].join('');
}

/** Who claims more of a pool than one node may, for its condition; undefined: nobody. */
export function refusedOfPool(register: Register, pool: Pool): string | undefined {
  const names = new Set<string>();
  for (const cidr of pool.cidrs) {
    for (const { owner } of register.refused.overlapping(cidr))
      names.add(owner.slice('node/'.length));
  }
  if (names.size === 0) return undefined;
  const claims = [...names].sort().flatMap((name) => {
    const refused = register
      .claimsOf(name)
      .refused.filter(
        (claim) =>
          claim.pool.name === pool.name || pool.cidrs.some((cidr) => cidr.overlaps(claim.prefix)),
      );
    return refusedGroups(refused).map((group) => refusedText(name, group));
  });
  return `not adopted, and kept from nobody else: ${listNames(claims, 3)}`;
}
