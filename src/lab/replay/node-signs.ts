/** What kubectl, a kubelet or a person write on a Node that leaves. */
import type { KubeClient } from '../../kube/client.ts';
import { outOfServiceTaint } from '../../model/keys.ts';
import { nodes } from '../../model/resources.ts';

interface NodeObject {
  metadata: { name: string };
  status?: { conditions?: Array<{ type: string }> };
}

export class NodeSigns {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** `kubectl cordon`, and `uncordon`. */
  async setCordon(node: string, isWanted: boolean): Promise<void> {
    const body = { spec: { unschedulable: isWanted ? true : null } };
    await this.#client.patch(nodes, node, { type: 'merge', body });
  }

  async setOutOfService(node: string, isWanted: boolean): Promise<void> {
    const taint = { key: outOfServiceTaint, value: 'nodeshutdown', effect: 'NoExecute' };
    const body = { spec: { taints: isWanted ? [taint] : null } };
    await this.#client.patch(nodes, node, { type: 'merge', body });
  }

  /** As the kubelet says it: other conditions are left as they are. */
  async setShutdown(node: string, isWanted: boolean): Promise<void> {
    const { status } = await this.#client.get<NodeObject>(nodes, node);
    const index = (status?.conditions ?? []).findIndex(({ type }) => type === 'Ready');
    const value = isWanted
      ? ready('False', 'KubeletNotReady', 'node is shutting down')
      : ready('True', 'KubeletReady', 'kubelet is posting ready status');
    const path = `/status/conditions/${index}`;
    await this.#client.patch(nodes, node, {
      type: 'json',
      subresource: 'status',
      body: [
        { op: 'test', path: `${path}/type`, value: 'Ready' },
        { op: 'replace', path, value },
      ],
    });
  }
}

function ready(status: 'True' | 'False', reason: string, message: string) {
  return { type: 'Ready', status, reason, message };
}
