import type { KubeClient } from '../kube/client.ts';
import type { Pool } from '../model/ip-pool.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { NamedNetwork } from '../plan/pools/pool-set.ts';
import type { ForeignLand as Land } from '../plan/services/service-pools.ts';
import { readServiceNetworks } from './service-networks.ts';

interface ForeignLandOptions {
  client: KubeClient;
  register: Register;
  /** As told by flags, beside those that the cluster names. */
  told: readonly NamedNetwork[];
  clusterPool: Pool | undefined;
}

/**
 * Land that is somebody's already: the Service networks, of which no pod gets an
 * address, and the pools and nodes, of which no Service does.
 */
export class ForeignLand {
  readonly #o: ForeignLandOptions;
  #networks: readonly NamedNetwork[] = [];
  #nodeAddresses: ReadonlySet<string> | undefined;

  constructor(options: ForeignLandOptions) {
    this.#o = options;
  }

  get networks(): readonly NamedNetwork[] {
    return this.#networks;
  }

  /** Reads the Service networks; the register has to be told by whoever watches its pools. */
  async read(): Promise<void> {
    const { client, register, told, clusterPool } = this.#o;
    const networks = [...told, ...(await readServiceNetworks(client))];
    this.#networks = networks;
    if (clusterPool === undefined) return;
    // As kube-controller-manager does: the Service network is left out of the cluster's own range.
    const reserved = networks
      .map(({ prefix }) => prefix)
      .filter((prefix) => clusterPool.cidrs.some((cidr) => cidr.overlaps(prefix)));
    register.putPool({ ...clusterPool, reserved: [...clusterPool.reserved, ...reserved] });
  }

  /** What no LoadBalancerPool may reach into. */
  ofServices(): Land[] {
    const pools = this.#o.register.poolSet.pools.flatMap(({ name, cidrs, reserved }) =>
      cidrs.map((prefix) => ({ name: `pool ${name}`, prefix, reserved })),
    );
    return [...pools, ...this.#networks];
  }

  isOfNode(address: string): boolean {
    this.#nodeAddresses ??= new Set(
      [...this.#o.register.nodes.values()].flatMap(({ addresses }) => addresses),
    );
    return this.#nodeAddresses.has(address);
  }

  nodesChanged(): void {
    this.#nodeAddresses = undefined;
  }
}
