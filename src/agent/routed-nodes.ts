import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { RoutedNode } from '../plan/node/desired-routes.ts';
import { ownedBlocksByNode, type TruthSource } from '../plan/node/node-truth.ts';

/**
 * What was made of a Node last. Of thousands of nodes one has changed, so the others
 * need not be made again; and many agents in one process, which share their caches,
 * share these too.
 */
const madeOf = new WeakMap<ClusterNode, RoutedNode>();

/** Every other node that holds blocks. */
export function otherRoutedNodes(
  source: TruthSource,
  self: string,
  nodes: () => Iterable<ClusterNode>,
  blocks: Iterable<Block>,
): RoutedNode[] {
  const byNode = ownedBlocksByNode(source, nodes(), blocks);
  const others: RoutedNode[] = [];
  for (const node of nodes()) {
    const own = byNode.get(node.name);
    if (node.name === self || own === undefined) continue;
    const before = madeOf.get(node);
    if (before !== undefined && isSame(before.blocks, own)) others.push(before);
    else {
      const { name, createdMs, addresses } = node;
      const made = { name, createdMs, addresses, blocks: own.map(({ prefix }) => ({ prefix })) };
      madeOf.set(node, made);
      others.push(made);
    }
  }
  return others;
}

function isSame(a: RoutedNode['blocks'], b: RoutedNode['blocks']): boolean {
  return a.length === b.length && a.every(({ prefix }, at) => prefix.equals(b[at]!.prefix));
}
