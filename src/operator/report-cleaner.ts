import type { KubeClient } from '../kube/client.ts';
import { ifFound } from '../kube/get-if-there.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReport } from '../model/node-report.ts';
import { nodeReports } from '../model/resources.ts';
import type { Register } from '../plan/blocks/register.ts';

/**
 * A NodeReport outlives its Node for as long as a NodeBlock needs its word. With the
 * last block it goes, so that what it says the node uses does not outlive the node.
 */
interface ReportCleanerOptions {
  client: Pick<KubeClient, 'delete'>;
  register: Register;
  reportStore: {
    get(name: string): NodeReport | undefined;
    remove(name: string, uid: string): void;
  };
  assertLeading(): void;
}

export class ReportCleaner {
  readonly #o: ReportCleanerOptions;

  constructor(options: ReportCleanerOptions) {
    this.#o = options;
  }

  /** After the block was deleted. */
  async blockFreed({ nodeName, nodeUid, uid }: Block): Promise<void> {
    const { register, reportStore, client } = this.#o;
    const report = reportStore.get(nodeName);
    if (report === undefined || report.nodeUid !== nodeUid) return;
    if (register.nodes.get(nodeName)?.uid === nodeUid) return;
    // Also those of an earlier Node of the name: that the node has an agent is seen by its report.
    if (register.blocksOf(nodeName).some((other) => other.uid !== uid)) return;
    this.#o.assertLeading();
    await ifFound(client.delete(nodeReports, nodeName, { uid: report.uid }));
    reportStore.remove(nodeName, report.uid);
  }
}
