/** The agent's caches of cluster state, and the knowledge that follows from them. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';
import { type BgpAdvertisement, readBgpAdvertisement } from '../model/bgp-advertisement.ts';
import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import { type BgpPeer, type ReadBgpPeer, readBgpPeer } from '../model/bgp-peer.ts';
import { type LoadBalancerPool, poolsOfConfig } from '../model/load-balancer-pool.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import { type Block, blockName, readBlock } from '../model/node-block.ts';
import { identityOf, type KubeObject } from '../model/object.ts';
import { bgpAdvertisements, bgpPeers, configMaps, nodeBlocks, nodes } from '../model/resources.ts';
import { nodeTruth } from '../plan/node/node-truth.ts';
import type { AgentSettings } from './agent-settings.ts';
import type { CacheSpec, FollowCache, FollowedCache } from './followed-cache.ts';
import type { Knowledge } from './knowledge.ts';
import { otherRoutedNodes } from './routed-nodes.ts';
import { ServiceCaches } from './service-caches.ts';

export interface ClusterCacheOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  settings: Pick<AgentSettings, 'nodeName' | 'rules' | 'configMap' | 'filePeers' | 'filePools'>;
  /** Many agents in one process share their caches. */
  follow?: FollowCache | undefined;
  onChange: () => void;
}

export type View =
  | { kind: 'known'; knowledge: Knowledge }
  | { kind: 'unsynced' }
  | {
      kind: 'no-node';
      detail: string;
      /** What is left of an earlier knowledge: blocks the register still has under their uid. */
      orphaned(before: Knowledge): Knowledge;
    };

export class ClusterCaches {
  readonly #o: ClusterCacheOptions;
  readonly #nodes: FollowedCache<ClusterNode>;
  readonly #blocks: FollowedCache<Block> | undefined;
  readonly #peers: FollowedCache<ReadBgpPeer>;
  readonly #advertisements: FollowedCache<BgpAdvertisement>;
  readonly #config: FollowedCache<Kept> | undefined;
  readonly #services: ServiceCaches;
  /** The last configuration that could be understood: half of a new one announces half a network. */
  #configPeers: readonly BgpPeer[] = [];
  #configPools: readonly LoadBalancerPool[] = [];
  /** What followed from the caches, until one of them changes. */
  #knowledge: Knowledge | undefined;

  constructor(options: ClusterCacheOptions) {
    this.#o = options;
    const { nodeName, rules, configMap } = options.settings;
    this.#nodes = this.#cache(nodes, readNode);
    this.#blocks = rules.source === 'register' ? this.#cache(nodeBlocks, keepBlock) : undefined;
    this.#peers = this.#cache(bgpPeers, (object) => this.#keepPeer(object));
    this.#advertisements = this.#cache(bgpAdvertisements, readBgpAdvertisement);
    this.#services = new ServiceCaches(nodeName, (resource, read, isPerNode) =>
      this.#cache(resource, read, isPerNode ? { isPerNode } : {}),
    );
    this.#config =
      configMap &&
      this.#cache(configMaps, (object) => this.#keepConfig(object), {
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
      });
  }

  start(signal: AbortSignal): void {
    for (const cache of this.#all()) {
      cache.start(signal);
      cache.synced.then(
        () => this.#changed(),
        () => undefined,
      );
    }
    // Shared caches go on before they are followed here.
    this.#changed();
  }

  /** How long the longest silent of them has heard nothing. */
  silentMs(): number {
    return Math.max(...this.#all().map((cache) => cache.silentMs()));
  }

  /** The same knowledge, the very object, as long as nothing has changed. */
  view(): View {
    if (!this.#all().every((cache) => cache.hasSynced)) return { kind: 'unsynced' };
    const { nodeName } = this.#o.settings;
    const node = this.#nodes.get(nodeName);
    if (node === undefined) {
      const detail = `there is no Node called ${nodeName}`;
      return { kind: 'no-node', detail, orphaned: (before) => this.#orphaned(before) };
    }
    this.#knowledge ??= this.#know(node);
    return { kind: 'known', knowledge: this.#knowledge };
  }

  #know(node: ClusterNode): Knowledge {
    const { rules, filePeers, filePools } = this.#o.settings;
    const blocks = [...(this.#blocks?.values() ?? [])];
    const objects = [...this.#peers.values()].flatMap((read) =>
      read.kind === 'peer' ? [read.peer] : [],
    );
    return {
      node,
      truth: nodeTruth(rules, node, blocks),
      others: otherRoutedNodes(rules.source, node.name, () => this.#nodes.values(), blocks),
      peers: [...objects, ...filePeers, ...(this.#config?.size ? this.#configPeers : [])],
      advertisements: [...this.#advertisements.values()],
      services: this.#services.facts([
        ...filePools,
        ...(this.#config?.size ? this.#configPools : []),
      ]),
    };
  }

  #changed(): void {
    this.#knowledge = undefined;
    this.#o.onChange();
  }

  /**
   * The Node is gone, its pods may not be. Nobody else can have its blocks while
   * the register keeps them for it, so they stay routed, and give out nothing.
   */
  #orphaned(before: Knowledge): Knowledge {
    const blocks = before.truth.blocks
      .filter(({ prefix, uid }) => {
        if (this.#blocks === undefined) return true;
        return this.#blocks.get(blockName(prefix))?.uid === uid;
      })
      .map((block) => ({ ...block, isDraining: true }));
    return { ...before, truth: { kind: 'blocks', blocks } };
  }

  #all(): FollowedCache<Kept>[] {
    const own = [this.#nodes, this.#blocks, this.#peers, this.#advertisements, this.#config];
    const all = [...own, ...this.#services.all];
    return all.filter((cache) => cache !== undefined) as unknown as FollowedCache<Kept>[];
  }

  #cache<T extends Kept>(
    resource: Resource,
    read: (object: KubeObject) => T,
    where: { namespace?: string; fieldSelector?: string; isPerNode?: true } = {},
  ): FollowedCache<T> {
    const { client, clock, log, metrics } = this.#o;
    const spec: CacheSpec<T> = {
      resource,
      ...where,
      keep: (raw) => read(raw as KubeObject),
      handler: {
        // Kubelets touch every Node every few seconds; what is kept of it is mostly the same.
        onPut: (next, prev) => {
          if (prev === undefined || !isSame(next, prev)) this.#changed();
        },
        onDelete: () => this.#changed(),
      },
    };
    return this.#o.follow?.(spec) ?? new ListWatch<T>({ client, clock, log, metrics, ...spec });
  }

  #keepPeer(object: KubeObject): ReadBgpPeer {
    const read = readBgpPeer(object);
    if (read.kind === 'malformed') {
      const fields = { reason: 'MalformedConfig', peer: read.name };
      this.#o.log.warn(fields, `BGPPeer ${read.name}: ${read.problem}`);
    }
    return read;
  }

  #keepConfig(object: KubeObject): Kept {
    const { name, namespace } = object.metadata ?? {};
    const result = loadConfigMapObject(object as { data?: Record<string, string> });
    if (result.kind === 'config') {
      this.#configPeers = result.config.peers;
      this.#configPools = poolsOfConfig(result.config);
    } else {
      const problems = result.problems.map(
        ({ line, key, sentence }) => `${line}: ${key === '' ? '' : `${key}: `}${sentence}`,
      );
      this.#o.log.error(
        { reason: 'MalformedConfig', configMap: `${namespace}/${name}`, problems },
        'the BGP configuration cannot be used; the last good one stays',
      );
    }
    // What changed is in #configPeers, not in what is kept.
    this.#changed();
    return { ...identityOf(object), namespace };
  }
}

function isSame(a: Kept, b: Kept): boolean {
  const text = (kept: Kept) => JSON.stringify({ ...kept, resourceVersion: '' });
  return text(a) === text(b);
}

function keepBlock(object: KubeObject): Block {
  const read = readBlock(object);
  if (read.kind === 'malformed') throw new Error(`MalformedBlock: ${read.problem}`);
  return read.block;
}
