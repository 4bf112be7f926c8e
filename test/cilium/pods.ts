/**
 * Pods without a kubelet: a network namespace that the real cilium-cni wires, a Pod object,
 * and the status that a kubelet would write.
 */
import { join } from 'node:path';
import {
  deleteNamespaces,
  endProcesses,
  hasNamespace,
  ipBatch,
  ipJson,
  namespacePath,
} from '../../src/lab/namespaces.ts';
import { pause } from '../world/eventually.ts';
import type { CiliumCluster } from './cluster.ts';
import { namespaceOf } from './layout.ts';
import { ciliumPaths } from './objects.ts';

export interface Pod {
  readonly name: string;
  readonly node: string;
  readonly address: string;
  /** With IPv6 beside: both. */
  readonly addresses: readonly string[];
  readonly uid: string;
  readonly namespace: string;
}

interface Links {
  readonly ifname: string;
  readonly addr_info: ReadonlyArray<{ readonly scope: string; readonly local: string }>;
}

const podsPath = '/api/v1/namespaces/default/pods';

export class Pods {
  readonly running = new Map<string, Pod>();
  /** The network configuration that the nodes' CNI folder would have. */
  netConf: Record<string, unknown> = { cniVersion: '0.3.1', name: 'cilium', type: 'cilium-cni' };
  readonly #cluster: CiliumCluster;
  readonly #cilium: string;
  #owner: object = {};

  constructor(cluster: CiliumCluster, cilium: string) {
    this.#cluster = cluster;
    this.#cilium = cilium;
  }

  /** What the pods belong to: one without a controller may not be evicted. */
  async createOwner(): Promise<void> {
    const labels = { app: 'steady' };
    const { metadata } = await this.#cluster.world.must<{ metadata: { uid: string } }>(
      'POST',
      '/apis/apps/v1/namespaces/default/replicasets',
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: { name: 'steady' },
        spec: {
          replicas: 0,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'pause', image: 'pause' }] },
          },
        },
      },
    );
    const { uid } = metadata;
    this.#owner = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      name: 'steady',
      uid,
      controller: true,
    };
  }

  async start(name: string, node: string): Promise<Pod> {
    const { world } = this.#cluster;
    const { metadata } = await world.must<{ metadata: { uid: string } }>('POST', podsPath, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: 'steady' }, ownerReferences: [this.#owner] },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'pause', image: 'pause' }],
      },
    });
    const namespace = namespaceOf(`pod-${name}`);
    await ipBatch(undefined, [`netns add ${namespace}`]);
    await ipBatch(namespace, ['link set lo up']);
    const answer = await this.#add({ name, node, namespace, uid: metadata.uid });
    const { ips } = JSON.parse(answer) as { ips: Array<{ address: string }> };
    const addresses = ips.map((one) => one.address.replace(/\/.*$/, '')).sort(ipv4First);
    const address = addresses[0]!;
    const pod: Pod = { name, node, address, addresses, uid: metadata.uid, namespace };
    this.running.set(name, pod);
    await world.must('PATCH', `${podsPath}/${name}/status`, {
      status: {
        phase: 'Running',
        hostIP: this.#cluster.machine(node).address,
        podIP: address,
        podIPs: addresses.map((ip) => ({ ip })),
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    return pod;
  }

  /** As a kubelet: tried again until it is given. In multi-pool an agent may wait for a block. */
  async #add(pod: Pick<Pod, 'name' | 'node' | 'namespace' | 'uid'>): Promise<string> {
    for (let left = 20; ; left--) {
      try {
        return await this.#call('ADD', pod);
      } catch (error) {
        if (left === 0) throw error;
        await this.#call('DEL', pod);
        await pause(1000);
      }
    }
  }

  async end(name: string): Promise<void> {
    const pod = this.running.get(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    this.running.delete(name);
    await this.#call('DEL', pod);
    await deleteNamespaces([pod.namespace]);
    await this.#cluster.world.call('DELETE', `${podsPath}/${name}?gracePeriodSeconds=0`);
  }

  /** Which addresses more than one pod has, by their own namespaces and by CiliumEndpoints. */
  async inTwoPlaces(): Promise<string[]> {
    const places = new Map<string, Set<string>>();
    const add = (address: string, place: string) =>
      places.set(address, (places.get(address) ?? new Set()).add(place));
    for (const { name, namespace } of this.running.values()) {
      const links = await ipJson<Links[]>(namespace, 'addr show dev eth0');
      for (const { addr_info } of links) {
        for (const { scope, local } of addr_info) {
          if (scope === 'global') add(local, name);
        }
      }
    }
    for (const { metadata, status } of await this.endpoints()) {
      for (const { ipv4, ipv6 } of status?.networking?.addressing ?? []) {
        for (const address of [ipv4, ipv6]) if (address) add(address, metadata.name);
      }
    }
    return [...places].flatMap(([address, names]) =>
      names.size > 1 ? [`${address}: ${[...names].join(', ')}`] : [],
    );
  }

  endpoints(): Promise<Endpoint[]> {
    return this.#cluster.world.list<Endpoint>(ciliumPaths.endpoints);
  }

  async close(): Promise<void> {
    const left = [...this.running.values()].map(({ namespace }) => namespace);
    await endProcesses(left.filter(hasNamespace));
    await deleteNamespaces(left);
  }

  #call(
    command: 'ADD' | 'DEL',
    { name, node, namespace, uid }: Pick<Pod, 'name' | 'node' | 'namespace' | 'uid'>,
  ): Promise<string> {
    const machine = this.#cluster.machine(node);
    return machine.run([join(this.#cilium, 'cilium-cni')], JSON.stringify(this.netConf), {
      CNI_COMMAND: command,
      CNI_CONTAINERID: uid,
      CNI_NETNS: namespacePath(namespace),
      CNI_IFNAME: 'eth0',
      CNI_PATH: `${this.#cilium}:${machine.plugins}`,
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_UID=${uid}`,
    });
  }
}

/** As a kubelet shows them: `podIP` is the first of `podIPs`. */
const ipv4First = (a: string, b: string): number =>
  Number(a.includes(':')) - Number(b.includes(':'));

export interface Endpoint {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly networking?: {
      readonly node?: string;
      readonly addressing?: ReadonlyArray<{ readonly ipv4?: string; readonly ipv6?: string }>;
    };
  };
}
