import type { Surroundings } from '../cluster/surroundings.ts';
import { clusterState } from '../model/cluster-state.ts';
import type { Pool } from '../model/ip-pool.ts';
import type { NamedNetwork } from '../model/network.ts';
import type { Register } from '../plan/blocks/register.ts';
import { withReserved } from '../plan/pools/serving-pools.ts';
import type { ExcludedNetwork } from '../plan/services/service-pools.ts';

interface ExcludedNetworksOptions {
  surroundings: Surroundings;
  register: Register;
  /** By flags, beside those that the cluster names. */
  stated: readonly NamedNetwork[];
  clusterPool: Pool | undefined;
}

/**
 * Networks that are used for something else: no pod gets an address of the Service
 * networks, and no Service one of the pools or nodes.
 */
export class ExcludedNetworks {
  readonly #o: ExcludedNetworksOptions;
  #networks: readonly NamedNetwork[] = [];
  #reads = 0;
  #nodeAddresses: ReadonlySet<string> | undefined;

  constructor(options: ExcludedNetworksOptions) {
    this.#o = options;
  }

  get networks(): readonly NamedNetwork[] {
    return this.#networks;
  }

  /** Reads the Service networks; whoever watches the register's pools passes them on. */
  async read(): Promise<void> {
    const { surroundings, register, stated, clusterPool } = this.#o;
    await surroundings.look();
    this.#reads++;
    this.#networks = clusterState(surroundings.items, { serviceNetworks: stated }).serviceNetworks;
    if (clusterPool !== undefined) register.putPool(withReserved(clusterPool, this.#networks));
  }

  /** Another one as soon as `ofServices` may give another answer. */
  get version(): string {
    return `${this.#o.register.poolSet.judgements} ${this.#reads}`;
  }

  /** What no LoadBalancerPool may reach into. */
  ofServices(): ExcludedNetwork[] {
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
