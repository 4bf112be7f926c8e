import type { CiliumNode } from '../../model/cilium-node.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/**
 * Mode multi-pool: the blocks that Cilium's agent has let go of. It drops a block that it
 * has emptied from the pools of its CiliumNode, and gives out nothing of it from then on.
 *
 * A registered block that the list lacks may also be one that is not written there yet (a
 * crash between the register and the list). So a block counts as let go only if this
 * process saw it in the list of that very CiliumNode, and then a version without it. A
 * leader that did not see it lists the block once more, which is harmless: the block is
 * the node's still, and the agent drops it again.
 */
export class LetGoBlocks {
  readonly #dropped = new Map<string, Set<string>>();

  put(next: CiliumNode, before: CiliumNode | undefined): void {
    const isSame = before !== undefined && before.uid === next.uid;
    const listed = new Set((next.poolCidrs ?? []).map(canonical));
    const gone = isSame ? [...(before.poolCidrs ?? [])].map(canonical) : [];
    const known = isSame ? (this.#dropped.get(next.name) ?? []) : [];
    const dropped = [...known, ...gone].filter((cidr) => !listed.has(cidr));
    if (dropped.length > 0) this.#dropped.set(next.name, new Set(dropped));
    else this.#dropped.delete(next.name);
  }

  forget(node: string): void {
    this.#dropped.delete(node);
  }

  /** Another NodeBlock of that name is another grant: it is to be listed. */
  forgetBlock(node: string, prefix: Prefix): void {
    this.#dropped.get(node)?.delete(prefix.toString());
  }

  has(node: string, prefix: Prefix): boolean {
    return this.#dropped.get(node)?.has(prefix.toString()) ?? false;
  }
}

function canonical(text: string): string {
  return parsePrefix(text)?.toString() ?? text;
}
