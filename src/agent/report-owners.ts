import { apiVersion } from '../model/keys.ts';
import { blockName } from '../model/node-block.ts';
import type { Prefix } from '../net/prefix.ts';
import type { ReportOwner } from './report-writer.ts';

interface OwnersInput {
  readonly node: { name: string; uid: string };
  readonly isNodeThere: boolean;
  /** NodeBlocks of the node that exist. */
  readonly blocks: ReadonlyArray<{ prefix: Prefix; uid: string }>;
  readonly isUsing: boolean;
}

/**
 * The ownerReferences of the report: the Node, and each of its NodeBlocks, so that an agent's
 * last report is there for as long as a block of a deleted Node is. With the last owner
 * Kubernetes deletes the report.
 */
export class ReportOwners {
  #isOrphan = false;

  /** Undefined: there is nothing to report for. */
  next({ node, isNodeThere, blocks, isUsing }: OwnersInput): ReportOwner[] | undefined {
    const ofNode = { apiVersion: 'v1', kind: 'Node', ...node };
    const owners = blocks.flatMap(({ prefix, uid }) =>
      uid === '' ? [] : [{ apiVersion, kind: 'NodeBlock', name: blockName(prefix), uid }],
    );
    if (isNodeThere) owners.unshift(ofNode);
    const wasOrphan = this.#isOrphan;
    // Blocks that the register has lost are claimed by a report that nothing owns.
    this.#isOrphan = owners.length === 0 && isUsing;
    if (owners.length > 0 || this.#isOrphan) return owners;
    // Owned by a Node that does not exist it is deleted.
    return wasOrphan ? [ofNode] : undefined;
  }
}
