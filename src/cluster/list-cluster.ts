import { CadastreError } from '../base/errors.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { groupVersion } from '../kube/resource.ts';
import { ciliumConfigName } from '../model/cilium-config.ts';
import { ciliumOperatorName } from '../model/cilium-operator.ts';
import {
  bgpConfigName,
  type ClusterKind,
  clusterKinds,
  type KindRow,
} from '../model/cluster-kinds.ts';
import type { KubeObject } from '../model/object.ts';
import { ipPools } from '../model/resources.ts';
import { ItemCollector, type ReadCluster } from './read-cluster.ts';

export interface ClusterListOptions {
  origin: string;
  /** Where cilium-config, the cilium DaemonSet, the cilium-operator and the ConfigMap of BGP peers are. */
  ciliumNamespace?: string | undefined;
  bgpConfigMap?: { namespace: string; name: string } | undefined;
  /**
   * Goes on without a kind that may not be read, and names it in `unread`; Nodes
   * must be readable even so. Otherwise only Service networks may be missing (who
   * may not list them names them with --service-cidr), pools that are only compared, and
   * pods, whose names are then not said.
   */
  isLenient: boolean;
}

/** What the pods of a whole cluster cost is only paid by who needs them. */
export type PodScope = 'all' | 'controller-manager';

const optionalKinds: readonly ClusterKind[] = [
  'serviceCidrs',
  'ciliumPodPools',
  'pods',
  'ciliumEndpoints',
  'operatorReports',
];

const controllerManager = {
  namespace: 'kube-system',
  labelSelector: 'component=kube-controller-manager',
};

/**
 * A live cluster, by lists alone. A kind that the cluster does not have is empty:
 * one that runs plain Cilium, or nothing yet, can be looked at too.
 *
 * Nodes are to be read last, so that a block never seems to belong to a node that
 * is only a moment younger than our list.
 */
export class ClusterList {
  readonly #client: KubeClient;
  readonly #o: ClusterListOptions;
  readonly #collector = new ItemCollector();
  readonly #unread = new Map<ClusterKind, string>();
  readonly #counts: string[] = [];

  constructor(client: KubeClient, options: ClusterListOptions) {
    this.#client = client;
    this.#o = options;
  }

  async readAll(kinds: readonly ClusterKind[]): Promise<this> {
    for (const kind of kinds) await this.read(kind);
    return this;
  }

  async read(kind: ClusterKind, pods: PodScope = 'all'): Promise<void> {
    const { resource } = clusterKinds[kind];
    this.#collector.clear(kind);
    this.#unread.delete(kind);
    let count: number | undefined;
    try {
      if (kind === 'configMaps') count = await this.#readConfigMaps();
      else if (kind === 'daemonSets') count = await this.#get(kind, 'cilium', this.#namespace);
      else if (kind === 'deployments')
        count = await this.#get(kind, ciliumOperatorName, this.#namespace);
      else
        count = await this.#list(kind, kind === 'pods' && pods !== 'all' ? controllerManager : {});
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const mayMiss = this.#o.isLenient ? kind !== 'nodes' : optionalKinds.includes(kind);
      if (!error.isNotFound && !(error.isForbidden && mayMiss)) throw error;
      if (error.isForbidden) {
        const why = `${resource.kind}: the API server does not let us look (forbidden)`;
        this.#unread.set(kind, why);
      }
    }
    this.#counts.push(`${count ?? 'no'} ${resource.plural}`);
    if (kind === 'pools' && count === undefined) await refuseOtherVersion(this.#client);
  }

  /** `12 nodes, no ippools`, in the order they were read. */
  get summary(): string {
    return this.#counts.join(', ');
  }

  result(): ReadCluster {
    const { malformed, items } = this.#collector;
    const unread = new Map(this.#unread);
    for (const [kind, { resource }] of Object.entries(clusterKinds)) {
      const bad = malformed.find((one) => one.kind === resource.kind);
      if (bad === undefined || unread.has(kind as ClusterKind)) continue;
      unread.set(kind as ClusterKind, `${bad.kind} ${bad.name}: ${bad.problems.join('; ')}`);
    }
    return { origin: this.#o.origin, from: 'cluster', items, malformed, unread, ageOf: () => 0 };
  }

  get #namespace(): string {
    return this.#o.ciliumNamespace ?? 'kube-system';
  }

  async #readConfigMaps(): Promise<number> {
    // Read before, where it is read at all: it names the ConfigMap.
    const [operator] = this.#collector.of('operatorReports');
    const bgp = this.#o.bgpConfigMap ??
      operator?.bgpConfigMap ?? { namespace: this.#namespace, name: bgpConfigName };
    return (
      (await this.#get('configMaps', ciliumConfigName, this.#namespace)) +
      (await this.#get('configMaps', bgp.name, bgp.namespace))
    );
  }

  async #get(kind: ClusterKind, name: string, namespace: string): Promise<number> {
    try {
      const { resource } = clusterKinds[kind];
      this.#put(kind, await this.#client.get<KubeObject>(resource, name, { namespace }));
      return 1;
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return 0;
      throw error;
    }
  }

  /** Object by object, so that whole Nodes are never held all at once. */
  async #list(
    kind: ClusterKind,
    options: { namespace?: string; labelSelector?: string },
  ): Promise<number> {
    const { olderVersions = [], ...newest } = clusterKinds[kind].resource;
    const versions = [newest.version, ...olderVersions];
    for (;;) {
      const resource = { ...newest, version: versions.shift()! };
      try {
        return await this.#listVersion(kind, resource, options);
      } catch (error) {
        const isUnknown = error instanceof ApiError && error.isNotFound;
        if (!isUnknown || versions.length === 0) throw error;
      }
    }
  }

  async #listVersion(
    kind: ClusterKind,
    resource: KindRow<unknown>['resource'],
    options: { namespace?: string; labelSelector?: string },
  ): Promise<number> {
    let count = 0;
    await this.#client.listEach<KubeObject>(resource, options, {
      onStart: () => {
        this.#collector.clear(kind);
        count = 0;
      },
      onItem: (item) => {
        count += 1;
        this.#put(kind, item);
      },
    });
    return count;
  }

  #put(kind: ClusterKind, object: KubeObject): void {
    const { resource } = clusterKinds[kind];
    this.#collector.put(kind, {
      ...object,
      apiVersion: groupVersion(resource),
      kind: resource.kind,
    });
  }
}

/** Not there at all is one thing; there in a version that we cannot read must not look like it. */
async function refuseOtherVersion(client: KubeClient): Promise<void> {
  const { group, version: ours } = ipPools;
  let served: string[];
  try {
    const { versions } = (await client.rawGet(`/apis/${group}`)) as {
      versions?: { version: string }[];
    };
    served = (versions ?? []).map(({ version }) => version);
  } catch (error) {
    if (error instanceof ApiError && (error.isNotFound || error.isForbidden)) return;
    throw error;
  }
  if (served.length === 0 || served.includes(ours)) return;
  const message = `the cluster has ${group} in ${served.join(', ')}; this cadastre knows ${ours}`;
  throw new CadastreError('BAD_INPUT', message, {
    remedy: "Look at it with the cadastre of the cluster's own operator.",
  });
}
