import type { Address } from '../../net/address.ts';
import { holds, ServicePoolSet } from '../../plan/services/service-pools.ts';
import type { Look } from '../view/look.ts';

/** Who has one address, in a sentence and as fields. */
export interface HolderDescription {
  address: string;
  /** Of an address inside a node's block only that node's agent knows; then it is as much as the block. */
  isHeld: boolean;
  sentence: string;
  attributes: Record<string, string>;
}

/** What the register says; which pod of a node has the address its agent knows. */
export function describeHolder(address: Address, { register, state }: Look): HolderDescription {
  const text = address.toString();
  const held = state.serviceAddresses.find((one) => one.address.equals(address));
  if (held !== undefined) {
    return {
      address: text,
      isHeld: true,
      sentence: `IP ${text} is in use`,
      attributes: { service: held.service, pool: held.pool },
    };
  }
  const block = [...register.blocks.values()].find(
    ({ prefix, phase }) => phase !== 'Guard' && prefix.contains(address),
  );
  if (block !== undefined) {
    const { nodeName, prefix, pool, phase } = block;
    return {
      address: text,
      isHeld: true,
      sentence: `IP ${text} belongs to node ${nodeName}; which pod has it, if any, its agent knows: cadastre ipam show ${text} on that node`,
      attributes: { block: prefix.toString(), node: nodeName, pool, phase },
    };
  }
  const node = state.nodes.find(({ addresses }) => addresses.includes(text));
  if (node !== undefined) {
    const sentence = `IP ${text} is in use`;
    return { address: text, isHeld: true, sentence, attributes: { node: node.name } };
  }
  const pool =
    register.poolSet.pools.find(({ cidrs }) => cidrs.some((cidr) => cidr.contains(address))) ??
    new ServicePoolSet(state.servicePools).pools.find((one) => holds(one, address));
  const where = pool === undefined ? 'in no pool' : `in pool ${pool.name}`;
  const sentence = `IP ${text} is not assigned; it lies ${where}`;
  return { address: text, isHeld: false, sentence, attributes: {} };
}
