import type { Log } from '../base/log.ts';
import type { CacheHandler } from '../kube/object-cache.ts';
import type { BgpConfig } from '../model/bgp-config-map.ts';
import type { KeptConfigMap } from '../model/cluster-kinds.ts';
import { type LoadBalancerPool, poolsOfConfig } from '../model/load-balancer-pool.ts';

/**
 * The BGP ConfigMap as it changes: the last content that could be read stays in
 * use, since half of a new one would announce half a network.
 */
export class BgpConfigHandler implements CacheHandler<KeptConfigMap> {
  readonly #log: Log;
  readonly #onChange: () => void;
  #config: BgpConfig | undefined;

  constructor(log: Log, onChange: () => void) {
    this.#log = log;
    this.#onChange = onChange;
  }

  get peers(): BgpConfig['peers'] {
    return this.#config?.peers ?? [];
  }

  get pools(): LoadBalancerPool[] {
    return this.#config === undefined ? [] : poolsOfConfig(this.#config);
  }

  onPut({ namespace, name, bgp, bgpProblems }: KeptConfigMap): void {
    const configMap = `${namespace}/${name}`;
    if (bgp === undefined) {
      this.#log.error(
        { reason: 'MalformedConfig', object: configMap, detail: bgpProblems },
        'the BGP ConfigMap is malformed; the last good one stays in use',
      );
      return;
    }
    for (const pool of bgp.pools) {
      if (pool.protocol === 'bgp') continue;
      const words = `pool ${pool.name} of the BGP ConfigMap is for ${pool.protocol}, not bgp: it is not served`;
      this.#log.warn({ object: configMap, pool: pool.name }, words);
    }
    this.#config = bgp;
    this.#onChange();
  }

  onDelete(): void {
    this.#config = undefined;
    this.#onChange();
  }
}
