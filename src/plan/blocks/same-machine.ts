import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';

/** The two share an address: by name alone nobody knows. */
export function isOfSameMachine(node: ClusterNode, { nodeAddresses = [] }: Block): boolean {
  return nodeAddresses.some((address) => node.addresses.includes(address));
}

/**
 * A Node of the same name is not the same machine: a block of an earlier Node goes
 * to it only if the two share an address, or if a witness says that the earlier one
 * does not use the block. A block without recorded addresses (its Node had none, or
 * an earlier version made it) is known by the name alone.
 */
export function isOfAnotherMachine(node: ClusterNode, block: Block): boolean {
  if (block.nodeUid === node.uid || block.released !== undefined) return false;
  return block.nodeAddresses !== undefined && !isOfSameMachine(node, block);
}
