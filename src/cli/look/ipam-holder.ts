import type { Address } from '../../net/address.ts';
import { holderOf } from '../../plan/find/address-holder.ts';
import type { Look } from '../view/look.ts';
import { indexOf } from './explain-subject.ts';

/** Who has one address, in a sentence and as fields. */
export interface HolderDescription {
  address: string;
  /** Where pods could not be listed, an address inside a node's block is as much as the block. */
  isHeld: boolean;
  sentence: string;
  attributes: Record<string, string>;
}

export function describeHolder(address: Address, look: Look): HolderDescription {
  const holder = holderOf(indexOf(look), address);
  const { address: text, isHeld, pod, service, node, block, pool, phase } = holder;
  const attributes = Object.fromEntries(
    Object.entries({ pod, service, block, node, pool, phase }).filter(([, value]) => value !== ''),
  );
  if (!isHeld) {
    const where = pool === '' ? 'in no pool' : `in pool ${pool}`;
    const sentence = `IP ${text} is not assigned; it lies ${where}`;
    return { address: text, isHeld, sentence, attributes: {} };
  }
  const isKnown = pod !== '' || service !== '' || holder.isOfNode;
  const sentence = isKnown
    ? `IP ${text} is in use`
    : `IP ${text} belongs to node ${node}; which pod has it, if any, its agent knows: cadastre ipam show ${text} on that node`;
  return { address: text, isHeld, sentence, attributes };
}
