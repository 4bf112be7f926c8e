import type { Block } from '../../model/node-block.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { HoldingSource, Holdings } from '../blocks/holdings.ts';
import type { Register } from '../blocks/register.ts';

/** Everything that claims a part of a prefix. */
export interface PrefixClaims {
  prefix: Prefix;
  /** Pools with a CIDR around it or in it. */
  pools: Array<{ pool: string; cidr: Prefix }>;
  /** Registered blocks that lie in it or around it. */
  blocks: Block[];
  /** What records outside the register say about it. */
  records: Array<{ node: string; cidr: Prefix; source: HoldingSource }>;
  reserved: Array<{ pool: string; cidr: Prefix }>;
  /** Nothing and nobody claims any part of it. */
  isFree: boolean;
}

/**
 * Who holds a CIDR, or the block around an address. The claims say who is
 * concerned; the register and the records say what exactly they hold.
 */
export function prefixClaims(register: Register, prefix: Prefix): PrefixClaims {
  const claims = register.claims.overlapping(prefix);
  const names = new Set<string>();
  const reserved: PrefixClaims['reserved'] = [];
  for (const { prefix: cidr, owner } of claims) {
    const slash = owner.indexOf('/');
    const kind = owner.slice(0, slash);
    const name = owner.slice(slash + 1);
    if (kind === 'node' || kind === 'shadow' || kind === 'pooled') names.add(name);
    if (kind === 'pool') reserved.push({ pool: name, cidr });
  }
  return {
    prefix,
    pools: register.poolSet.pools.flatMap((pool) =>
      pool.cidrs.filter((cidr) => cidr.overlaps(prefix)).map((cidr) => ({ pool: pool.name, cidr })),
    ),
    blocks: [...register.blocks.values()]
      .filter((block) => block.prefix.overlaps(prefix))
      .sort((a, b) => a.prefix.compare(b.prefix)),
    records: [...names].flatMap((node) =>
      recordsOf(register.holdingsOf(node)).flatMap(({ source, prefixes }) =>
        prefixes.filter((cidr) => cidr.overlaps(prefix)).map((cidr) => ({ node, cidr, source })),
      ),
    ),
    reserved,
    isFree: claims.length === 0,
  };
}

function recordsOf({ bySource, compared, pooled }: Holdings) {
  const lists = [...bySource, ...compared].map(([source, { ipv4, ipv6 }]) => ({
    source,
    prefixes: [...ipv4, ...ipv6],
  }));
  return [...lists, { source: 'ciliumnode' as const, prefixes: pooled }];
}
