/**
 * Services of type LoadBalancer in a lab. Nobody runs kube-proxy there: a node that can serve an
 * address has it on its loopback and answers pings to it itself, as IPVS would have it there.
 */
import type { KubeClient } from '../../kube/client.ts';
import { ifFound } from '../../kube/get-if-there.ts';
import { apiVersion, requestAnnotations } from '../../model/keys.ts';
import { endpointSlices, loadBalancerPools, services } from '../../model/resources.ts';
import { eventually } from '../eventually.ts';
import type { LabPod } from '../folder.ts';
import type { Lab } from '../lab.ts';
import { ipBatch } from '../namespaces.ts';

export interface LabService {
  readonly name: string;
  readonly address: string;
  readonly policy: 'Cluster' | 'Local';
}

/** An endpoint of a Service: where it is, and how it is. */
export interface LabEndpoint {
  readonly node: string;
  /** Being deleted, and still serving. */
  readonly isEnding?: boolean;
}

const namespace = 'default';
const poolName = 'lab';

/** What the stage pings, in the form of a pod that lives on no node. */
export function pingTarget({ name, address }: LabService): LabPod {
  return { name: `service-${name}`, node: 'Services', namespace: '', addresses: [address] };
}

export function servicePrefix({ address }: LabService): string {
  return `${address}/32`;
}

export class LabServices {
  readonly #lab: Lab;
  readonly #client: KubeClient;
  readonly #all: LabService[] = [];
  /** By Service: the nodes that have its address. */
  readonly #serving = new Map<string, Set<string>>();

  constructor(lab: Lab, client: KubeClient) {
    this.#lab = lab;
    this.#client = client;
  }

  get prefixes(): string[] {
    return this.#all.map(servicePrefix);
  }

  async createPool(cidr: string): Promise<void> {
    const pool = { apiVersion, kind: 'LoadBalancerPool', metadata: { name: poolName } };
    await this.#client.create(loadBalancerPools, { ...pool, spec: { addresses: [cidr] } });
  }

  async create(service: LabService, endpoints: readonly LabEndpoint[]): Promise<void> {
    const { name, address, policy } = service;
    this.#all.push(service);
    await this.setEndpoints(service, endpoints);
    const annotations = { [requestAnnotations[0]]: address };
    const spec = { type: 'LoadBalancer', externalTrafficPolicy: policy, ports: [{ port: 80 }] };
    const object = { apiVersion: 'v1', kind: 'Service', metadata: { name, annotations }, spec };
    await this.#client.create(services, object, { namespace });
    await eventually(`Service ${name} has its address`, async () => {
      const { status } = await this.#client.get<{
        metadata: { name: string };
        status?: { loadBalancer?: { ingress?: object[] } };
      }>(services, name, { namespace });
      return status?.loadBalancer?.ingress?.length ? true : undefined;
    });
  }

  /** What kube-proxy does with them comes first: no packet is to arrive before the node can serve it. */
  async setEndpoints(service: LabService, endpoints: readonly LabEndpoint[]): Promise<void> {
    const { name, policy } = service;
    const serving =
      policy === 'Cluster'
        ? this.#lab.topology.nodes.map((node) => node.name)
        : endpoints.map(({ node }) => node);
    await this.#serveFrom(service, new Set([...(this.#serving.get(name) ?? []), ...serving]));
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: endpointSlices.kind,
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ port: 80 }],
      endpoints: endpoints.map(({ node, isEnding = false }, index) => ({
        nodeName: node,
        addresses: [`192.0.2.${index + 1}`],
        conditions: { ready: !isEnding, serving: true, terminating: isEnding },
      })),
    };
    const body = { endpoints: slice.endpoints };
    const patched = this.#client.patch(endpointSlices, name, { type: 'merge', body, namespace });
    if ((await ifFound(patched)) === undefined) {
      await this.#client.create(endpointSlices, slice, { namespace });
    }
  }

  /** The last packets have passed: only those nodes have the address from now on. */
  async stopServingElsewhere(service: LabService, nodes: readonly string[]): Promise<void> {
    await this.#serveFrom(service, new Set(nodes));
  }

  async removeAll(): Promise<void> {
    for (const service of this.#all.splice(0)) {
      await ifFound(this.#client.delete(services, service.name, { namespace }));
      await ifFound(this.#client.delete(endpointSlices, service.name, { namespace }));
      await this.#serveFrom(service, new Set());
    }
    await ifFound(this.#client.delete(loadBalancerPools, poolName));
  }

  async #serveFrom(service: LabService, wanted: ReadonlySet<string>): Promise<void> {
    const had = this.#serving.get(service.name) ?? new Set<string>();
    this.#serving.set(service.name, new Set(wanted));
    const change = (verb: string, nodes: Iterable<string>) =>
      [...nodes].map((node) =>
        ipBatch(this.#lab.namespace(node), [`addr ${verb} ${service.address}/32 dev lo`]),
      );
    const added = [...wanted].filter((node) => !had.has(node));
    const removed = [...had].filter((node) => !wanted.has(node));
    await Promise.all([...change('add', added), ...change('del', removed)]);
  }
}
