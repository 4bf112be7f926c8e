/** Puts pools, peers and nodes into the API server: at first, and when more nodes are wanted. */
import type { Clock } from '../base/clock.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import type { Resource } from '../kube/resource.ts';
import type { ClusterNode } from '../model/node.ts';
import type { KubeObject } from '../model/object.ts';
import { bgpPeers, ipPools, nodes } from '../model/resources.ts';
import { simulatedNode } from './node-object.ts';
import { poolOfNode, type Site, siteNode } from './site-plan.ts';

interface SiteSeedOptions {
  client: KubeClient;
  clock: Clock;
  signal: AbortSignal;
  /** The Nodes that exist. */
  nodeCopy: Pick<ListWatch<ClusterNode>, 'get' | 'size' | 'values'>;
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
    const { nodeCopy, onProgress } = this.#o;
    if (isFirst) {
      onProgress?.('registering pools and peers');
      await this.#ensureAll(ipPools, site.pools);
      await this.#ensureAll(bgpPeers, site.peers);
    }
    const planned = isFirst ? site.nodes : [];
    const more = (wanted ?? 0) - nodeCopy.size - planned.length;
    const further = this.#unusedNodes(more, new Set(planned.map(({ name }) => name)));
    const fresh = [...planned, ...further.map(siteNode)];
    if (fresh.length > 0)
      onProgress?.(`adding ${fresh.length} ${fresh.length === 1 ? 'node' : 'nodes'}`);
    await this.#ensureAll(ipPools, further.map(poolOfNode));
    await this.#ensureAll(nodes, fresh.map(simulatedNode));
    if (fresh.length > few) await this.#untilServed(fresh.length);
  }

  /** What was created, or undefined where it is there already. */
  async ensure(resource: Resource, object: KubeObject): Promise<KubeObject | undefined> {
    const { client, clock, signal } = this.#o;
    const deadlineMs = clock.monotonicMs() + 30_000;
    for (;;) {
      try {
        return await client.create<KubeObject>(resource, object);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.isConflict || error.status === 409) return undefined;
        // The operator is registering the custom resources at this moment.
        const isYoung = error.isNotFound && clock.monotonicMs() < deadlineMs;
        if (!isYoung || signal.aborted) throw error;
        await pause(50);
      }
    }
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

  /** A mass join is served first: agents that run already would look at each change of it. */
  async #untilServed(count: number): Promise<void> {
    const { clock, signal, nodeCopy, onProgress } = this.#o;
    const untilMs = clock.monotonicMs() + 1_000 * count;
    let said = -1;
    while (!signal.aborted && clock.monotonicMs() < untilMs) {
      const waiting = [...nodeCopy.values()].filter((node) => !hasBlock(node)).length;
      if (waiting === 0) return;
      if (waiting !== said) onProgress?.(`${waiting} nodes wait for their blocks`);
      said = waiting;
      await pause(1_000, signal);
    }
  }

  /** The next numbers of nodes that neither exist nor are planned. */
  #unusedNodes(count: number, planned: ReadonlySet<string>): number[] {
    const found: number[] = [];
    for (let index = 0; found.length < count; index++) {
      const { name } = siteNode(index);
      if (this.#o.nodeCopy.get(name) === undefined && !planned.has(name)) found.push(index);
    }
    return found;
  }
}

function hasBlock({ annotations }: ClusterNode): boolean {
  return Object.keys(annotations).length > 0;
}
