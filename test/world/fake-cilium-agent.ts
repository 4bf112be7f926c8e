import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { paths } from './objects.ts';

/**
 * An agent of Cilium and the kubelet under it, as far as the API server sees them.
 * What matters: the agent fixes its block when it starts, and goes on giving out of
 * it whatever its CiliumNode says since. `mode` is the agent's own: in cluster-pool it
 * takes the first block of its CiliumNode, in kubernetes that of Node.spec, which it
 * then writes to its CiliumNode itself. When it starts again it takes back only those
 * endpoints whose addresses lie in the block it has now. Its CiliumNode belongs to its
 * Node and goes with it; the agent, which runs on, makes another for the next Node.
 */
export interface FakeCiliumAgentOptions {
  cluster: Cluster;
  node: string;
  nodeIp: string;
  mode: 'cluster-pool' | 'kubernetes';
  /** DaemonSets with a pod on the node in pod addresses. */
  daemonSets?: readonly string[];
}

interface PodObject {
  metadata: { name: string; namespace: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string; hostNetwork?: boolean };
  status?: { podIP?: string };
}

interface Records {
  metadata?: { uid: string; ownerReferences?: Array<{ uid: string }> };
  spec?: { podCIDRs?: string[]; ipam?: { podCIDRs?: string[] } };
}

const inNamespace = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
const endpoints = '/apis/cilium.io/v2/namespaces/default/ciliumendpoints';
const agentSystem = 'kube-system';

export class FakeCiliumAgent {
  readonly #o: FakeCiliumAgentOptions;
  /** The block it gives out of; undefined until it has one. */
  block: string | undefined;
  /** How often it was started. */
  starts = 0;
  /** Pods whose endpoint was not taken back at a start: they run, and have no network. */
  readonly dropped: string[] = [];
  #agentUid = '';
  #internalIp: string | undefined;
  #serial = 1;
  #isPlaying = true;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: FakeCiliumAgentOptions) {
    this.#o = options;
  }

  static async registerEndpoints(cluster: Cluster): Promise<void> {
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const schema = { openAPIV3Schema: { type: 'object', properties: { status: open } } };
    const answer = await cluster.call('POST', paths.crds, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'ciliumendpoints.cilium.io' },
      spec: {
        group: 'cilium.io',
        scope: 'Namespaced',
        names: { kind: 'CiliumEndpoint', plural: 'ciliumendpoints', singular: 'ciliumendpoint' },
        versions: [{ name: 'v2', served: true, storage: true, schema }],
      },
    });
    if (answer.status !== 201 && answer.status !== 409) throw new Error(JSON.stringify(answer));
    await eventually(() => cluster.list(endpoints));
    for (const path of [
      '/api/v1/namespaces',
      `/api/v1/namespaces/${agentSystem}/serviceaccounts`,
    ]) {
      const name = path.endsWith('accounts') ? 'default' : agentSystem;
      const kind = path.endsWith('accounts') ? 'ServiceAccount' : 'Namespace';
      await cluster.call('POST', path, { apiVersion: 'v1', kind, metadata: { name } });
    }
  }

  play(): this {
    this.#loop = (async () => {
      while (this.#isPlaying) {
        await this.#turn();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    return this;
  }

  async stop(): Promise<void> {
    this.#isPlaying = false;
    await this.#loop;
  }

  /** The addresses of its pods, by name. */
  async addresses(): Promise<Record<string, string>> {
    const own = await this.#pods();
    return Object.fromEntries(
      own.map(({ metadata, status }) => [metadata.name, status?.podIP ?? '']),
    );
  }

  async #pods(): Promise<PodObject[]> {
    const { cluster, node } = this.#o;
    const all = await cluster.list<PodObject>(inNamespace('default'));
    return all.filter(({ spec }) => spec.nodeName === node);
  }

  async #turn(): Promise<void> {
    await this.#keepDaemonSets();
    const agent = await this.#o.cluster.call<PodObject>(
      'GET',
      `${inNamespace(agentSystem)}/${this.#agentName}`,
    );
    if (agent.status !== 200) return;
    if (!(await this.#keepCiliumNode())) return;
    const { uid } = agent.body.metadata;
    if (uid !== this.#agentUid) {
      if (!(await this.#start())) return;
      this.#agentUid = uid;
    }
    if (this.block !== undefined) await this.#serve();
  }

  get #agentName(): string {
    return `cilium-${this.#o.node}`;
  }

  async #start(): Promise<boolean> {
    const { cluster, node, mode } = this.#o;
    const records =
      mode === 'kubernetes' ? `${paths.nodes}/${node}` : `${paths.ciliumNodes}/${node}`;
    // It waits until somebody has put a block there.
    const { body } = await cluster.call<Records>('GET', records);
    const cidrs = mode === 'kubernetes' ? body.spec?.podCIDRs : body.spec?.ipam?.podCIDRs;
    const [first] = cidrs ?? [];
    if (first === undefined) return false;
    this.block = first;
    this.starts += 1;
    this.#internalIp = this.#next();
    await cluster.must('PATCH', `${paths.ciliumNodes}/${node}`, { spec: this.#ownSpec });
    for (const pod of await this.#pods()) {
      if (pod.status?.podIP === undefined || this.#isServed(pod.status.podIP)) continue;
      this.dropped.push(pod.metadata.name);
      await cluster.call('DELETE', `${endpoints}/${pod.metadata.name}`);
    }
    return true;
  }

  /** Whether there is one, of the Node that is there. */
  async #keepCiliumNode(): Promise<boolean> {
    const { cluster, node } = this.#o;
    const path = `${paths.ciliumNodes}/${node}`;
    const own = await cluster.call<Records>('GET', `${paths.nodes}/${node}`);
    const uid = own.status === 200 ? own.body.metadata?.uid : undefined;
    const there = await cluster.call<Records>('GET', path);
    if (there.status === 200) {
      const owner = there.body.metadata?.ownerReferences?.[0]?.uid;
      if (owner === uid) return true;
      if (owner !== undefined) await cluster.call('DELETE', path);
      else if (uid !== undefined) {
        await cluster.call('PATCH', path, {
          metadata: { ownerReferences: [ownerNode(node, uid)] },
        });
      }
      return false;
    }
    if (uid === undefined) return false;
    await cluster.call('POST', paths.ciliumNodes, {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNode',
      metadata: { name: node, ownerReferences: [ownerNode(node, uid)] },
      spec: this.#ownSpec,
    });
    return true;
  }

  /** What the agent itself writes. */
  get #ownSpec(): object {
    const { nodeIp, mode } = this.#o;
    const internal =
      this.#internalIp === undefined ? [] : [{ type: 'CiliumInternalIP', ip: this.#internalIp }];
    const writesBlock = mode === 'kubernetes' && this.block !== undefined;
    return {
      addresses: [{ type: 'InternalIP', ip: nodeIp }, ...internal],
      ...(writesBlock ? { ipam: { podCIDRs: [this.block] } } : {}),
    };
  }

  #isServed(address: string): boolean {
    return address.startsWith((this.block ?? '').replace(/0\/\d+$/, ''));
  }

  #next(): string {
    this.#serial = (this.#serial % 250) + 1;
    return (this.block ?? '').replace(/0\/\d+$/, `${this.#serial}`);
  }

  /** Pods get addresses of the block that was fixed at the start; endpoints go with their pods. */
  async #serve(): Promise<void> {
    const { cluster, nodeIp } = this.#o;
    const own = await this.#pods();
    for (const { metadata, status, spec } of own) {
      if (status?.podIP !== undefined || spec.hostNetwork) continue;
      const ip = this.#next();
      const given = { phase: 'Running', podIP: ip, podIPs: [{ ip }] };
      const path = `${inNamespace('default')}/${metadata.name}/status`;
      if ((await cluster.call('PATCH', path, { status: given })).status !== 200) continue;
      await cluster.call('DELETE', `${endpoints}/${metadata.name}`);
      await cluster.call('POST', endpoints, {
        apiVersion: 'cilium.io/v2',
        kind: 'CiliumEndpoint',
        metadata: { name: metadata.name },
        status: { networking: { node: nodeIp, addressing: [{ ipv4: ip }] } },
      });
    }
    const names = new Set(own.map(({ metadata }) => metadata.name));
    for (const one of await cluster.list<EndpointObject>(endpoints)) {
      const isOwn = one.status?.networking?.node === nodeIp;
      if (isOwn && !names.has(one.metadata.name)) {
        await cluster.call('DELETE', `${endpoints}/${one.metadata.name}`);
      }
    }
  }

  async #keepDaemonSets(): Promise<void> {
    const { daemonSets = [] } = this.#o;
    await this.#keepPod(agentSystem, this.#agentName, 'cilium', true);
    for (const one of daemonSets) {
      await this.#keepPod('default', `${one}-${this.#o.node}`, one, false);
    }
  }

  async #keepPod(
    namespace: string,
    name: string,
    owner: string,
    hostNetwork: boolean,
  ): Promise<void> {
    const { cluster, node } = this.#o;
    const { status } = await cluster.call('GET', `${inNamespace(namespace)}/${name}`);
    if (status !== 404) return;
    const ref = await ownerOf(cluster, namespace, 'DaemonSet', owner);
    await cluster.must('POST', inNamespace(namespace), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ownerReferences: [ref] },
      spec: {
        nodeName: node,
        hostNetwork,
        terminationGracePeriodSeconds: 0,
        automountServiceAccountToken: false,
        containers: [{ name: 'c', image: 'none' }],
      },
    });
  }
}

const ownerNode = (name: string, uid: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  name,
  uid,
});

interface EndpointObject {
  metadata: { name: string };
  status?: { networking?: { node?: string } };
}

/** An owner that is there: the API server collects what belongs to nobody. */
export async function ownerOf(
  cluster: Cluster,
  namespace: string,
  kind: 'DaemonSet' | 'ReplicaSet',
  name: string,
): Promise<object> {
  const path = `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;
  const labels = { app: name };
  const containers = [{ name: 'c', image: 'none' }];
  await cluster.call('POST', path, {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  const { metadata } = await cluster.must<{ metadata: { uid: string } }>('GET', `${path}/${name}`);
  return { apiVersion: 'apps/v1', kind, name, uid: metadata.uid, controller: true };
}
