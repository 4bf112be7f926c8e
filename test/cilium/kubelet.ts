/**
 * What kubelets and the DaemonSet controller do where somebody deletes a Pod: the network of
 * one is taken down by cilium-cni, and the agent whose Pod was deleted is started again, in a
 * new Pod.
 */
import type { CiliumCluster } from './cluster.ts';

const agentPods = '/api/v1/namespaces/kube-system/pods';
const everyMs = 300;

interface PodObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
}

export class Kubelet {
  readonly #cluster: CiliumCluster;
  readonly #daemonSetUid: string;
  readonly #onError: (words: string) => void;
  #serial = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #now: Promise<void> = Promise.resolve();

  constructor(
    cluster: CiliumCluster,
    daemonSetUid: string,
    onError: (words: string) => void = console.error,
  ) {
    this.#cluster = cluster;
    this.#daemonSetUid = daemonSetUid;
    this.#onError = onError;
    this.#next();
  }

  /** The Pod of a node's agent, as it stands in every cluster with Cilium. */
  async createAgentPod(node: string): Promise<void> {
    const { world } = this.#cluster;
    const name = `cilium-${node}-${++this.#serial}`;
    const { address } = this.#cluster.machine(node);
    await world.must('POST', agentPods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        labels: { 'k8s-app': 'cilium' },
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'DaemonSet',
            name: 'cilium',
            uid: this.#daemonSetUid,
            controller: true,
          },
        ],
      },
      spec: {
        nodeName: node,
        hostNetwork: true,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'cilium-agent', image: 'cilium' }],
        tolerations: [{ operator: 'Exists' }],
      },
    });
    await world.must('PATCH', `${agentPods}/${name}/status`, {
      status: {
        phase: 'Running',
        hostIP: address,
        podIP: address,
        podIPs: [{ ip: address }],
        startTime: new Date().toISOString().replace(/\.\d+/, ''),
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    this.#agents.set(node, name);
  }

  readonly #agents = new Map<string, string>();

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#now;
  }

  #next(): void {
    this.#timer = setTimeout(() => {
      this.#now = this.#look()
        .catch((error) => this.#onError(`kubelet: ${(error as Error).message}`))
        .then(() => {
          if (!this.#isClosed) this.#next();
        });
    }, everyMs);
  }

  async #look(): Promise<void> {
    const { world, pods } = this.#cluster;
    const alive = new Set<string>();
    for (const { metadata } of await world.list<PodObject>('/api/v1/pods')) {
      if (metadata.deletionTimestamp === undefined) alive.add(metadata.name);
    }
    for (const pod of [...pods.running.values()]) {
      if (!alive.has(pod.name)) await pods.end(pod.name);
    }
    for (const [node, name] of [...this.#agents]) {
      if (alive.has(name)) continue;
      this.#agents.delete(node);
      await this.#cluster.machine(node).restartAgent(this.#cluster.config);
      await world.call('DELETE', `${agentPods}/${name}?gracePeriodSeconds=0`);
      await this.createAgentPod(node);
    }
  }
}
