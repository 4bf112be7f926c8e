import { hostPrefix } from '../../model/service-address.ts';
import type { Address } from '../../net/address.ts';
import { holds, ServicePoolSet } from '../services/service-pools.ts';
import type { ClusterIndex } from './cluster-index.ts';

/** Who has one address. What does not apply is empty. */
export interface AddressHolder {
  address: string;
  /** Somebody has it, or the block that it lies in. */
  isHeld: boolean;
  /** `namespace/name`, where pods could be listed. */
  pod: string;
  service: string;
  /** The node whose block it lies in, or whose own address it is. */
  node: string;
  /** It is that node's own address, not one of its pods'. */
  isOfNode: boolean;
  block: string;
  phase: string;
  pool: string;
  /** What it belongs to that is no pool of blocks: a Service network. */
  network: string;
}

/**
 * The answer of every command and page to "who has this address": a Service, a node,
 * a pod out of a node's block, or nobody. The block's owner is the one by the record
 * that is the truth; a block that cools down still belongs to the node that had it.
 */
export function holderOf(index: ClusterIndex, address: Address): AddressHolder {
  const { evidence, pools } = index.survey;
  const free: AddressHolder = {
    address: address.toString(),
    isHeld: false,
    pod: '',
    service: '',
    node: '',
    isOfNode: false,
    block: '',
    phase: '',
    pool: '',
    network: '',
  };
  const service = evidence.serviceAddresses.find((one) => one.address.equals(address));
  if (service !== undefined) {
    return { ...free, isHeld: true, service: service.service, pool: service.pool };
  }
  const host = hostPrefix(address);
  const pod = index.podAt(address);
  const owned = index.ownedAround(host);
  const registered = index.registeredAround(host);
  const isOwned = owned !== undefined && !(registered && isSmaller(registered, owned));
  const node = isOwned ? owned.node : registered?.nodeName;
  if (node !== undefined && node !== '') {
    const isSame = registered?.prefix.toString() === owned?.key;
    return {
      ...free,
      isHeld: true,
      node,
      pod: pod?.name ?? '',
      block: isOwned ? owned.key : (registered?.prefix.toString() ?? ''),
      phase: isOwned && !isSame ? 'Active' : (registered?.phase ?? 'Active'),
      pool: registered?.pool || poolAround(pools, address),
    };
  }
  const own = index.nodeAt(address);
  if (own !== undefined) return { ...free, isHeld: true, node: own, isOfNode: true };
  if (pod !== undefined) return { ...free, isHeld: true, pod: pod.name, node: pod.node };
  const pool =
    poolAround(pools, address) ||
    new ServicePoolSet(evidence.servicePools).pools.find((one) => holds(one, address))?.name ||
    '';
  const network = evidence.serviceNetworks.find(({ prefix }) => prefix.contains(address));
  return { ...free, pool, network: network?.name ?? '' };
}

export function holderWords(holder: AddressHolder): string {
  const { address, pod, service, node, block, phase, pool, network } = holder;
  if (service !== '') return `${address} is the address of Service ${service}`;
  if (holder.isOfNode) return `${address} is the address of node ${node} itself`;
  if (pod !== '') return `${address} is the address of pod ${pod} on ${node || 'no known node'}`;
  if (phase === 'Cooling') return `${address} is nobody's: ${block} of ${node} is in cool-down`;
  if (node !== '') return `${address} lies in ${block} of ${node}`;
  if (network !== '') return `${address} lies in ${network}, and is given to no pod`;
  return pool === '' ? `${address} lies in no pool` : `${address} is free; it lies in pool ${pool}`;
}

function isSmaller(
  registered: { prefix: { length: number } },
  owned: { prefix: { length: number } },
): boolean {
  return registered.prefix.length > owned.prefix.length;
}

function poolAround(
  pools: ReadonlyArray<{ name: string; cidrs: ReadonlyArray<{ contains(a: Address): boolean }> }>,
  address: Address,
): string {
  return pools.find(({ cidrs }) => cidrs.some((cidr) => cidr.contains(address)))?.name ?? '';
}
