import type { Cluster } from './cluster.ts';
import type { ConditionObject, Meta } from './objects.ts';

/** Services of the stories, and the register of their addresses. */
export interface ServiceObject {
  metadata: Meta & { namespace: string };
  spec: Record<string, unknown>;
  status?: {
    loadBalancer?: { ingress?: Array<{ ip: string }> };
    conditions?: ConditionObject[];
  };
}

export interface ServiceAddressObject {
  metadata: Meta;
  spec: {
    address: string;
    pool: string;
    service: { namespace: string; name: string; uid: string };
  };
}

export const servicePaths = {
  services: '/api/v1/namespaces/default/services',
  slices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
  addresses: '/apis/cadastre.dev/v1alpha1/serviceaddresses',
  pools: '/apis/cadastre.dev/v1alpha1/loadbalancerpools',
} as const;

export class Services {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  create(
    name: string,
    spec: Record<string, unknown> = {},
    metadata: Record<string, unknown> = {},
  ): Promise<ServiceObject> {
    return this.#cluster.must<ServiceObject>('POST', servicePaths.services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, ...metadata },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
    });
  }

  patch(name: string, patch: object): Promise<ServiceObject> {
    return this.#cluster.must<ServiceObject>('PATCH', `${servicePaths.services}/${name}`, patch);
  }

  async delete(name: string): Promise<void> {
    await this.#cluster.must('DELETE', `${servicePaths.services}/${name}`);
  }

  get(name: string): Promise<ServiceObject> {
    return this.#cluster.must<ServiceObject>('GET', `${servicePaths.services}/${name}`);
  }

  async ingress(name: string): Promise<string[]> {
    const { status } = await this.get(name);
    return (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  }

  async reason(name: string): Promise<string | undefined> {
    const { status } = await this.get(name);
    return status?.conditions?.find(({ type }) => type === 'CadastreAddressAssigned')?.reason;
  }

  createPool(name: string, spec: Record<string, unknown>): Promise<unknown> {
    return this.#cluster.must('POST', servicePaths.pools, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'LoadBalancerPool',
      metadata: { name },
      spec,
    });
  }

  addresses(): Promise<ServiceAddressObject[]> {
    return this.#cluster.list<ServiceAddressObject>(servicePaths.addresses);
  }

  /** `10.6.0.0 web`, sorted. */
  async register(): Promise<string[]> {
    return (await this.addresses())
      .map(({ spec }) => `${spec.address} ${spec.service.name}`)
      .sort();
  }

  /** Where its ready pods are: by hand what kube-controller-manager does. */
  putEndpoints(service: string, ready: Record<string, boolean>): Promise<unknown> {
    const endpoints = Object.entries(ready).map(([nodeName, isReady], at) => ({
      nodeName,
      addresses: [`10.5.112.${at + 10}`],
      conditions: { ready: isReady },
    }));
    const body = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: service, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      endpoints,
    };
    return this.#cluster
      .call('PUT', `${servicePaths.slices}/${service}`, body)
      .then(({ status }) =>
        status < 300 ? undefined : this.#cluster.must('POST', servicePaths.slices, body),
      );
  }

  async wipe(): Promise<void> {
    for (const { metadata } of await this.#cluster.list<ServiceObject>(servicePaths.services)) {
      if (metadata.name !== 'kubernetes') await this.delete(metadata.name);
    }
    for (const path of [servicePaths.addresses, servicePaths.pools]) {
      await this.#cluster.must('DELETE', path);
    }
  }
}
