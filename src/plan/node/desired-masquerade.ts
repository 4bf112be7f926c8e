import { parseAddress } from '../../net/address.ts';
import { familyBits } from '../../net/family.ts';
import { Prefix, parsePrefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { RoutedNode } from './desired-routes.ts';

export interface DesiredMasquerade {
  sources: readonly Prefix[];
  exceptions: readonly Prefix[];
}

/** Never leaves the link, or goes to many: nobody could answer another address. */
const unroutable = ['169.254.0.0/16', '224.0.0.0/4', 'fe80::/10', 'ff00::/8'].map(
  (text) => parsePrefix(text)!,
);

/**
 * What of this node's pods takes the node's own address on its way out: all of
 * it, but for what goes to pods and nodes, whose address everyone knows the way
 * to, and where the user says that the pod's own address is to be seen.
 */
export function desiredMasquerade(input: {
  self: RoutedNode;
  others: Iterable<RoutedNode>;
  exceptions: readonly Prefix[];
}): DesiredMasquerade {
  const inside: Prefix[] = [...input.exceptions, ...unroutable];
  for (const { blocks, addresses } of [input.self, ...input.others]) {
    for (const { prefix } of blocks) inside.push(prefix);
    for (const text of addresses) {
      const address = parseAddress(text);
      if (address) inside.push(Prefix.of(address, familyBits(address.family)));
    }
  }
  const sources = PrefixSet.of(input.self.blocks.map(({ prefix }) => prefix)).prefixes;
  const used = new Set(sources.map(({ family }) => family));
  const exceptions = inside.filter(({ family }) => used.has(family));
  return { sources, exceptions: PrefixSet.of(exceptions).prefixes };
}
