import type { Surroundings } from '../cluster/surroundings.ts';
import { clusterState } from '../model/cluster-state.ts';
import type { Pool } from '../model/ip-pool.ts';
import type { NamedNetwork } from '../model/network.ts';
import type { Register } from '../plan/blocks/register.ts';
import { withReserved } from '../plan/pools/serving-pools.ts';
import type { ExcludedNetwork as Land } from '../plan/services/service-pools.ts';

interface ForeignLandOptions {
  surroundings: Surroundings;
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
    const { surroundings, register, told, clusterPool } = this.#o;
    await surroundings.look();
    this.#networks = clusterState(surroundings.items, { serviceNetworks: told }).serviceNetworks;
    if (clusterPool !== undefined) register.putPool(withReserved(clusterPool, this.#networks));
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
