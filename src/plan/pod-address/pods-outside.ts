import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Finding } from '../blocks/finding.ts';

/** How many are named; the rest is counted. */
const named = 5;

/**
 * Pods that live in no block of the node: one was taken away while they used it.
 * They keep their addresses, because nobody may pull an address from under a pod;
 * but no other node and no router leads there any more.
 */
export function podsOutside(
  nodeName: string,
  pods: Iterable<{ who: string; addresses: readonly Address[] }>,
  blocks: ReadonlyArray<{ prefix: Prefix }>,
): Finding[] {
  const outside: string[] = [];
  for (const { who, addresses } of pods) {
    const lost = addresses.filter(
      (address) => !blocks.some(({ prefix }) => prefix.contains(address)),
    );
    if (lost.length > 0) outside.push(`${lost.join(' and ')} of ${who}`);
  }
  if (outside.length === 0) return [];
  const names = outside.sort().slice(0, named).join(', ');
  const more = outside.length > named ? ` and ${outside.length - named} more` : '';
  const detail = `${names}${more}: of no block that ${nodeName} holds, so nothing leads there; delete the pods, or give the node that block back`;
  return [{ reason: 'PodsOutsideBlocks', nodes: [nodeName], cidr: '', detail }];
}
