import { parseAddress } from '../../net/address.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { Prefix, parsePrefix } from '../../net/prefix.ts';
import { podAddresses } from '../../plan/pod-address/block-addresses.ts';
import { holds, ServicePoolSet } from '../../plan/services/service-pools.ts';
import type { Look } from '../view/look.ts';
import type { LocalStatus } from '../view/node-states.ts';

/** How full one pool or block is. Texts, because an IPv6 pool counts further than numbers do. */
export interface UsageLine {
  grouping: 'IP Pool' | 'Block' | 'LB Pool';
  /** Of a pool: its name. */
  name: string;
  cidr: string;
  total: string;
  inUse: string;
  free: string;
  node: string;
}

export function usageRow({ grouping, cidr, total, inUse, free, node }: UsageLine): string[] {
  const row = [grouping, cidr, figureText(total), shareText(inUse, total), shareText(free, total)];
  return [...row, node];
}

/** `16 (6%)`, as calicoctl prints it. */
function shareText(part: string, whole: string): string {
  const share = BigInt(whole) === 0n ? 0n : (BigInt(part) * 100n) / BigInt(whole);
  return `${figureText(part)} (${share}%)`;
}

/** Nobody reads 25 digits: `1.2089e+24`, as calicoctl prints it. */
function figureText(figure: string): string {
  return figure.length < 16 ? figure : Number(figure).toExponential(4);
}

function line(
  where: Pick<UsageLine, 'grouping' | 'name' | 'cidr' | 'node'>,
  total: bigint,
  inUse: bigint,
): UsageLine {
  const free = inUse > total ? 0n : total - inUse;
  return { ...where, total: `${total}`, inUse: `${inUse}`, free: `${free}` };
}

/** This node's blocks; what is in cool-down after a pod, or is reserved, is not free either. */
export function localUsage({ blocks, agent }: LocalStatus): UsageLine[] {
  return blocks.flatMap(({ cidr, free }) => {
    const prefix = parsePrefix(cidr);
    if (prefix === undefined) return [];
    const where = { grouping: 'Block' as const, name: '', cidr, node: agent?.node ?? '' };
    const total = podAddresses(prefix);
    return [line(where, total, total - BigInt(free))];
  });
}

/** The pools of the cluster, with what the agents report to be in use inside them. */
export function clusterUsage(
  { register, state }: Look,
  flags: { showBlocks?: boolean; node?: string },
): UsageLine[] {
  const pods = new Map<string, bigint>();
  for (const { status } of state.reports) {
    for (const { cidr, pods: count } of status?.blocks ?? []) {
      pods.set(cidr, (pods.get(cidr) ?? 0n) + BigInt(count ?? 0));
    }
  }
  const blocks = [...register.blocks.values()]
    .filter(({ phase }) => phase !== 'Guard')
    .filter(({ nodeName }) => flags.node === undefined || nodeName === flags.node)
    .sort((a, b) => a.prefix.compare(b.prefix));
  const used = (prefix: Prefix) => pods.get(prefix.toString()) ?? 0n;
  const blockLine = ({ prefix, pool, nodeName }: (typeof blocks)[number]) =>
    line(
      { grouping: 'Block', name: pool, cidr: prefix.toString(), node: nodeName },
      podAddresses(prefix),
      used(prefix),
    );
  if (flags.node !== undefined) return blocks.map(blockLine);
  const places = new ClaimIndex<(typeof blocks)[number]>();
  for (const block of blocks) places.record(block.prefix, block);
  const lines = [...register.poolSet.pools]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, cidrs, blockSize }) =>
      cidrs.flatMap((cidr) => {
        const inside = places
          .overlapping(cidr)
          .flatMap(({ prefix, owner }) => (cidr.contains(prefix) ? [owner] : []));
        const sum = inside.reduce((total, { prefix }) => total + used(prefix), 0n);
        const where = { grouping: 'IP Pool' as const, name, cidr: cidr.toString(), node: '' };
        const shown = flags.showBlocks ? inside.map(blockLine) : [];
        const size = blockSize[cidr.family] ?? cidr.length;
        const total = (1n << BigInt(size - cidr.length)) * podAddresses(Prefix.of(cidr, size));
        return [line(where, total, sum), ...shown];
      }),
    );
  return [...lines, ...serviceUsage(state)];
}

function serviceUsage({ servicePools, serviceAddresses }: Look['state']): UsageLine[] {
  return new ServicePoolSet(servicePools).pools.flatMap((pool) =>
    pool.ranges.map((range, at) => {
      const one = { ...pool, spans: [pool.spans[at]!] };
      const inUse = serviceAddresses.filter(({ address }) => holds(one, address)).length;
      const [first, last] = [parseAddress(range.first)!, parseAddress(range.last)!];
      const where = { grouping: 'LB Pool' as const, name: pool.name, cidr: range.text, node: '' };
      return line(where, last.toBigInt() - first.toBigInt() + 1n, BigInt(inUse));
    }),
  );
}
