/** Puts pools, peers and nodes into the API server: at first, and when more nodes are wanted. */
import type { Clock } from '../base/clock.ts';
import { plural } from '../base/count-text.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { createWhenKnown } from '../kube/create-when-known.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import type { Resource } from '../kube/resource.ts';
import { nodeObject } from '../lab/cluster/objects.ts';
import type { ClusterNode } from '../model/node.ts';
import type { KubeObject } from '../model/object.ts';
import { bgpPeers, ipPools, nodes } from '../model/resources.ts';
import { poolOfNode, type Site, siteNode } from './site-plan.ts';

interface SiteSeedOptions {
  client: KubeClient;
  clock: Clock;
  signal: AbortSignal;
  /** The Nodes that exist. */
  nodeCache: Pick<ListWatch<ClusterNode>, 'get' | 'size' | 'values'>;
  onProgress: ((words: string) => void) | undefined;
}

/** Up to so many are written one after the other: then who comes first is the same every time. */
const few = 16;
const writeAtOnce = 32;

export class SiteSeed {
  readonly #o: SiteSeedOptions;

  constructor(options: SiteSeedOptions) {
    this.#o = options;
  }

  async seed(plan: { site: Site; wanted: number | undefined; isFirst: boolean }): Promise<void> {
    const { site, wanted, isFirst } = plan;
    const { nodeCache, onProgress } = this.#o;
    if (isFirst) {
      onProgress?.('creating the IPPools and BGPPeers');
      await this.#ensureAll(ipPools, site.pools);
      await this.#ensureAll(bgpPeers, site.peers);
    }
    const planned = isFirst ? site.nodes : [];
    const more = (wanted ?? 0) - nodeCache.size - planned.length;
    const further = this.#unusedNodes(more, new Set(planned.map(({ name }) => name)));
    const fresh = [...planned, ...further.map(siteNode)];
    if (fresh.length > 0) onProgress?.(`adding ${plural(fresh.length, 'node')}`);
    await this.#ensureAll(ipPools, further.map(poolOfNode));
    await this.#ensureAll(nodes, fresh.map(nodeObject));
    if (fresh.length > few) await this.#untilServed(fresh.length);
  }

  /** What was created, or undefined where it is there already. */
  ensure(resource: Resource, object: KubeObject): Promise<KubeObject | undefined> {
    return createWhenKnown<KubeObject>(this.#o.client, resource, object, this.#o.signal);
  }

  /** Many at once: each write waits for the disk, and they can wait together. */
  async #ensureAll(resource: Resource, objects: readonly KubeObject[]): Promise<void> {
    const waiting = [...objects];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await this.ensure(resource, next);
      }
    };
    const width = objects.length > few ? writeAtOnce : 1;
    await Promise.all(Array.from({ length: width }, work));
  }

  /** Blocks are assigned to all before the first agent starts: each agent looks at every change. */
  async #untilServed(count: number): Promise<void> {
    const { clock, signal, nodeCache, onProgress } = this.#o;
    const untilMs = clock.monotonicMs() + 1_000 * count;
    let said = -1;
    while (!signal.aborted && clock.monotonicMs() < untilMs) {
      const waiting = [...nodeCache.values()].filter((node) => !hasBlock(node)).length;
      if (waiting === 0) return;
      if (waiting !== said) onProgress?.(`${plural(waiting, 'node')} without a block yet`);
      said = waiting;
      await pause(1_000, signal);
    }
  }

  /** The next numbers of nodes that neither exist nor are planned. */
  #unusedNodes(count: number, planned: ReadonlySet<string>): number[] {
    const found: number[] = [];
    for (let index = 0; found.length < count; index++) {
      const { name } = siteNode(index);
      if (this.#o.nodeCache.get(name) === undefined && !planned.has(name)) found.push(index);
    }
    return found;
  }
}

function hasBlock({ annotations }: ClusterNode): boolean {
  return Object.keys(annotations).length > 0;
}
