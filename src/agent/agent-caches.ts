/** The agent's caches of cluster state, and the knowledge that follows from them. */
import type { HealthChecks } from '../base/health-routes.ts';
import { BgpConfigHandler } from '../cluster/bgp-config-handler.ts';
import {
  type CacheBase,
  type CacheScope,
  onlyChanges,
  rowCache,
} from '../cluster/cluster-caches.ts';
import type { FollowCache, FollowedCache } from '../cluster/followed-cache.ts';
import { servedCheck, syncedCheck, watchesCheck } from '../kube/cache-health.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { type BgpAdvertisement, readBgpAdvertisement } from '../model/bgp-advertisement.ts';
import { type BgpPeer, isPeerOf, type ReadBgpPeer } from '../model/bgp-peer.ts';
import { clusterKinds, type KindRow, row } from '../model/cluster-kinds.ts';
import { type ReadyEndpoints, readReadyEndpoints, trimEndpoints } from '../model/endpoint-slice.ts';
import type { ClusterNode } from '../model/node.ts';
import { type Block, blockName } from '../model/node-block.ts';
import { bgpAdvertisements, endpointSlices } from '../model/resources.ts';
import type { RegisterView } from '../plan/node/block-use.ts';
import { hasLeavingSign, staysForServices } from '../plan/node/leaving.ts';
import { nodeTruth } from '../plan/node/node-truth.ts';
import type { AgentSettings } from './agent-settings.ts';
import { KeptObjects } from './kept-objects.ts';
import type { Knowledge } from './knowledge.ts';
import { otherRoutedNodes } from './routed-nodes.ts';
import { type OtherAnnouncers, type ServiceCachesOfNode, serviceFacts } from './service-facts.ts';

interface AgentCachesOptions extends CacheBase {
  settings: Pick<
    AgentSettings,
    'nodeName' | 'rules' | 'configMap' | 'filePeers' | 'filePools' | 'onCordon'
  >;
  /** Many agents in one process share their caches. */
  follow?: FollowCache | undefined;
  /** How long a deleted BGPPeer or BGPAdvertisement counts: its definition may be going, too. */
  definitionGraceMs: number;
  onChange: () => void;
  /** The store has gone back in time, as after a restored backup. */
  onStartedOver: () => void;
}

export type View =
  | { kind: 'known'; knowledge: Knowledge; register: RegisterView | undefined }
  | { kind: 'unsynced' }
  | {
      kind: 'no-node';
      detail: string;
      register: RegisterView | undefined;
      /** What is left of an earlier knowledge: blocks the register still has under their uid. */
      orphaned(before: Knowledge): Knowledge;
    };

/**
 * Each cache is fenced by resource version: an event that comes late, or twice,
 * changes nothing, and no order between the caches is assumed, since everything
 * is judged anew from all of them.
 */
export class AgentCaches {
  readonly #o: AgentCachesOptions;
  readonly #all: Array<FollowedCache<Kept>> = [];
  readonly #nodes: FollowedCache<ClusterNode>;
  readonly #blocks: FollowedCache<Block> | undefined;
  readonly #peers: KeptObjects<ReadBgpPeer>;
  readonly #advertisements: KeptObjects<BgpAdvertisement>;
  readonly #services: ServiceCachesOfNode;
  readonly #config: BgpConfigHandler;
  /** What followed from the caches, until one of them changes. */
  #knowledge: Knowledge | undefined;
  #own: readonly Block[] | undefined;
  #startedMs: number | undefined;

  constructor(options: AgentCachesOptions) {
    this.#o = options;
    const { nodeName, rules, configMap } = options.settings;
    this.#nodes = this.#cache(clusterKinds.nodes);
    this.#blocks = rules.source === 'register' ? this.#cache(clusterKinds.blocks) : undefined;
    this.#peers = this.#keep(clusterKinds.peers, (read) => this.#complain(read));
    this.#advertisements = this.#keep(row(bgpAdvertisements, readBgpAdvertisement));
    this.#services = {
      services: this.#cache(clusterKinds.services),
      endpoints: this.#cache(row(endpointSlices, readReadyEndpoints), {
        trim: (one) => trimEndpoints(one, nodeName),
        handler: {
          onPut: (next, prev) => this.#endpointsChanged(next, prev),
          onDelete: () => this.#changed(),
        },
      }),
      addresses: this.#cache(clusterKinds.serviceAddresses),
      pools: this.#cache(clusterKinds.servicePools),
    };
    this.#config = new BgpConfigHandler(options.log, () => this.#changed());
    if (configMap !== undefined) {
      this.#cache(clusterKinds.configMaps, {
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
        handler: this.#config,
      });
    }
  }

  start(signal: AbortSignal): void {
    this.#startedMs = this.#o.clock.monotonicMs();
    for (const cache of this.#all) {
      cache.start(signal);
      cache.synced.then(
        () => this.#changed(),
        () => undefined,
      );
    }
  }

  /** How long the longest silent of them has heard nothing. */
  silentMs(): number {
    return Math.max(...this.#all.map((cache) => cache.silentMs()));
  }

  /** What /readyz says of them. */
  readonly readiness: HealthChecks = new Map([
    ['caches', () => syncedCheck(this.#all)],
    ['resource definitions', () => servedCheck(this.#all)],
    ['watches', () => watchesCheck(this.#all)],
  ]);

  /**
   * What the caches had at first is the answer to lists that began after this moment; undefined
   * before that, and where others share the caches.
   */
  get listedMs(): number | undefined {
    return this.#hasSynced && this.#o.follow === undefined ? this.#startedMs : undefined;
  }

  /** The same knowledge, the very object, as long as nothing has changed. */
  view(): View {
    if (!this.#hasSynced) return { kind: 'unsynced' };
    const { nodeName } = this.#o.settings;
    const node = this.#nodes.get(nodeName);
    const register = this.#register();
    if (node === undefined) {
      const detail = `there is no Node called ${nodeName}`;
      return { kind: 'no-node', detail, register, orphaned: (before) => this.#orphaned(before) };
    }
    this.#knowledge ??= this.#know(node);
    return { kind: 'known', knowledge: this.#knowledge, register };
  }

  get #hasSynced(): boolean {
    return this.#all.every((cache) => cache.hasSynced);
  }

  #register(): RegisterView | undefined {
    const blocks = this.#blocks;
    if (blocks === undefined) return undefined;
    const { nodeName } = this.#o.settings;
    this.#own ??= [...blocks.values()].filter((block) => block.nodeName === nodeName);
    return {
      own: this.#own,
      ofOthers: (prefix) => {
        for (const block of blocks.values()) {
          const { nodeName: owner } = block;
          if (owner !== '' && owner !== nodeName && block.prefix.overlaps(prefix)) return block;
        }
        return undefined;
      },
      isServed: blocks.refusal !== 'not registered',
    };
  }

  #know(node: ClusterNode): Knowledge {
    const { rules, filePeers, filePools } = this.#o.settings;
    const blocks = [...(this.#blocks?.values() ?? [])];
    const objects = [...this.#peers.values()].flatMap((read) =>
      read.kind === 'peer' ? [read.peer] : [],
    );
    const peers = [...objects, ...filePeers, ...this.#config.peers];
    const pools = [...filePools, ...this.#config.pools];
    return {
      node,
      truth: nodeTruth(rules, node, blocks),
      others: otherRoutedNodes(rules.source, node.name, () => this.#nodes.values(), blocks),
      peers,
      advertisements: [...this.#advertisements.values()],
      services: serviceFacts(node, this.#services, pools, this.#otherAnnouncers(peers)),
    };
  }

  #otherAnnouncers(peers: readonly BgpPeer[]): OtherAnnouncers {
    const { nodeName, onCordon = 'services' } = this.#o.settings;
    const announces = (node: ClusterNode | undefined) =>
      node !== undefined &&
      node.name !== nodeName &&
      staysForServices(node, onCordon) &&
      peers.some((peer) => isPeerOf(peer, node.labels));
    const all = this.#nodes;
    return {
      has: (name) => announces(all.get(name)),
      get isAnyThere() {
        for (const node of all.values()) if (announces(node)) return true;
        return false;
      },
    };
  }

  /** Endpoints of other nodes matter only while this node, or an endpoint of it, is about to go. */
  #endpointsChanged(next: ReadyEndpoints, prev: ReadyEndpoints | undefined): void {
    const { nodeName } = this.#o.settings;
    const own = (one: ReadyEndpoints | undefined) =>
      `${one?.nodes.includes(nodeName)} ${one?.ending?.includes(nodeName)} ${one?.service}`;
    const node = this.#nodes.get(nodeName);
    const isGoing = next.ending?.includes(nodeName) || (node !== undefined && hasLeavingSign(node));
    if (isGoing || own(next) !== own(prev)) this.#changed();
  }

  #changed(): void {
    this.#knowledge = undefined;
    this.#own = undefined;
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

  #cache<T extends Kept>(kind: KindRow<T>, scope: CacheScope<T> = {}): FollowedCache<T> {
    const changed = () => this.#changed();
    const onStartedOver = () => this.#o.onStartedOver();
    const { handler = { onPut: changed, onDelete: changed }, ...rest } = scope;
    const where = { ...rest, onStartedOver };
    const cache =
      this.#o.follow?.(kind, { ...where, handler }) ??
      rowCache(kind, this.#o, { ...where, handler: onlyChanges(handler) });
    this.#all.push(cache as unknown as FollowedCache<Kept>);
    return cache;
  }

  #keep<T extends Kept>(kind: KindRow<T>, onPut?: (next: T) => void): KeptObjects<T> {
    const { clock, definitionGraceMs: graceMs } = this.#o;
    const kept = new KeptObjects<T>({ clock, graceMs, onChange: () => this.#changed() });
    const { handler } = kept;
    const put: CacheHandler<T>['onPut'] = (next, prev) => {
      onPut?.(next);
      handler.onPut(next, prev);
    };
    kept.follow(this.#cache(kind, { handler: { ...handler, onPut: put } }));
    return kept;
  }

  #complain(read: ReadBgpPeer): void {
    if (read.kind !== 'malformed') return;
    const fields = { reason: 'MalformedConfig', peer: read.name };
    this.#o.log.warn(fields, `BGPPeer ${read.name}: ${read.problem}`);
  }
}
