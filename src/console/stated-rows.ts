/**
 * Address space that no object of ours describes: the pool of the cluster-pool modes, which
 * is in flags or in cilium-config, and the blocks of a cluster in which others give them out.
 */
import type { Prefix } from '../net/prefix.ts';
import type { Survey } from '../plan/doctor/survey.ts';
import { poolRow } from './make-rows.ts';
import type { BlockRow, PoolRow } from './rows.ts';

export interface StatedRows {
  pools: Map<string, PoolRow>;
  blocks: Map<string, BlockRow>;
}

export function statedRows({ truth, pools, blocks, evidence }: Survey): StatedRows {
  const rows: StatedRows = { pools: new Map(), blocks: new Map() };
  const poolOf = (prefix: Prefix) =>
    pools.find(({ cidrs }) => cidrs.some((cidr) => cidr.contains(prefix)));
  if (truth.mode.pools === 'flags') {
    for (const pool of pools) {
      const row = poolRow({ kind: 'pool', pool });
      const cidrs = row.cidrs.map((cidr, at) => {
        const isInside = ({ prefix }: { prefix: Prefix }) => pool.cidrs[at]?.contains(prefix);
        const assigned = blocks.filter(isInside).length;
        const resting = evidence.blocks.filter(({ phase }) => phase === 'Cooling');
        const cooling = resting.filter(isInside).length;
        const free = Math.max(0, cidr.capacity - assigned - cooling);
        return { ...cidr, assigned, cooling, free };
      });
      rows.pools.set(pool.name, { ...row, cidrs });
    }
  }
  if (truth.record === 'register') return rows;
  for (const { key, prefix, node } of blocks) {
    const pool = poolOf(prefix)?.name ?? '';
    rows.blocks.set(key, { cidr: key, pool, node, phase: 'Active', sinceMs: 0 });
  }
  return rows;
}
