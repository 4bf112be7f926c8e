/**
 * From the API server to rows. Caches change, names become dirty, and a moment
 * later the rows of what is dirty are made anew: a mass join costs as much as
 * its nodes, not their square. The feed only reads.
 */

import type { Clock } from '../base/clock.ts';
import { listNames } from '../base/count-text.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { cachedItems } from '../cluster/cluster-caches.ts';
import { pause } from '../kube/backoff.ts';
import { type ClusterState, clusterState, type StatedSettings } from '../model/cluster-state.ts';
import { defaultCooldownSeconds } from '../model/ip-pool.ts';
import { formatSelector } from '../model/label-selector.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import { registerOf } from '../plan/blocks/register-of.ts';
import { isNodeNews, isReportNews } from '../plan/doctor/news.ts';
import { poolCandidates } from '../plan/pools/pool-candidates.ts';
import { whyPool } from '../plan/pools/why-pool.ts';
import type {
  CachedItems,
  CachedKind,
  CacheListener,
  ConsoleCache,
  ConsoleCaches,
} from './console-caches.ts';
import type { FeedSource } from './feed-source.ts';
import { blockRow, nodeRow, poolRow } from './make-rows.ts';
import type { NodeDetail } from './node-detail.ts';
import type { ConsoleState } from './state.ts';
import { TimeLine } from './time-line.ts';

export interface ClusterFeedOptions {
  source: FeedSource;
  state: ConsoleState;
  /** What flags say beside the objects. */
  stated: StatedSettings;
  clock: Clock;
  log: Log;
}

/** What can be said of a cache, whatever it holds. */
type FollowedKind = Pick<ConsoleCache<never>, 'hasSynced' | 'refusal' | 'silentMs' | 'size'>;

/** Changes within this time become one. */
const coalesceMs = 100;
/** How long a watch may be silent before its source counts as not seen. */
const silentMs = 120_000;
/** How often it is asked whether pods are to be listed again. */
const askForPodsMs = 5_000;

export class ClusterFeed {
  readonly #o: ClusterFeedOptions;
  readonly #caches: ConsoleCaches;
  readonly #surroundings: ReturnType<FeedSource['surroundings']>;
  readonly #used: FeedSource['used'];
  readonly #time: TimeLine;
  readonly #blocksOf = new Map<string, Map<string, Block>>();
  readonly #dirtyNodes = new Set<string>();
  readonly #dirtyBlocks = new Set<string>();
  readonly #dirtyPools = new Set<string>();
  readonly #sessionSince = new Map<string, { state: string; sinceMs: number }>();
  readonly #listeners = new Set<(isNews: boolean) => void>();
  /** Since the listeners were last called, something came that the judgement would see. */
  #isNews = false;
  #timer: NodeJS.Timeout | undefined;
  #hasLookedAround = false;

  constructor(options: ClusterFeedOptions) {
    this.#o = options;
    const { source, clock, state } = options;
    this.#time = new TimeLine({
      state,
      clock,
      hasHistory: () => this.#caches.cluster.histories.hasSynced,
    });
    this.#surroundings = source.surroundings(() => this.#touch(true));
    this.#used = source.used;
    this.#caches = source.caches(this.#listener());
  }

  start(signal: AbortSignal): void {
    const { cluster, events } = this.#caches;
    for (const cache of [...Object.values(cluster), events]) cache.start(signal);
    void this.#lookAround(signal);
    void this.#followPods(signal);
  }

  /** Why it does not know everything yet, if so. What the cluster does not have is known not to be. */
  notReady(): string | undefined {
    const { nodes, ...others } = this.#caches.cluster;
    const missing = Object.entries(others).filter(
      ([, cache]) => !cache.hasSynced && cache.refusal === undefined,
    );
    const names = missing.map(([name]) => name);
    if (!nodes.hasSynced) names.unshift('nodes');
    if (!this.#hasLookedAround) names.push('settings of other components');
    return names.length === 0 ? undefined : `${names.join(', ')} are not known yet`;
  }

  /** Sources that could be looked at, for the page that compares them. */
  sources(): Array<{ name: string; detail: string; isSeen: boolean }> {
    const about = (name: string, cache: FollowedKind) => {
      const isSeen = cache.hasSynced && cache.silentMs() < silentMs;
      const absent = cache.refusal ?? 'not listed yet';
      const detail = isSeen ? `${cache.size} seen` : cache.hasSynced ? 'silent' : absent;
      return { name, detail, isSeen };
    };
    const { nodes, blocks, reports, ciliumNodes } = this.#caches.cluster;
    return [
      about('NodeBlock', blocks),
      about('Node', nodes),
      about('NodeReport', reports),
      about('CiliumNode', ciliumNodes),
      ...this.#unreadBgp(),
    ];
  }

  /** Without them nobody knows what Cilium announces. */
  #unreadBgp(): Array<{ name: string; detail: string; isSeen: boolean }> {
    const { items, unread } = this.#surroundings;
    const { cilium, unreadCiliumBgp } = clusterState(items, this.#o.stated, [], unread);
    if (cilium?.bgp !== 'control-plane' || unreadCiliumBgp === undefined) return [];
    const detail = `may not be read, so what Cilium announces is not known: ${listNames(unreadCiliumBgp)}`;
    return [{ name: "Cilium's BGP objects", detail, isSeen: false }];
  }

  /** The cluster as it is now. */
  clusterState(): ClusterState {
    const { items: around, unread } = this.#surroundings;
    const { pods = [], ...used } = this.#used.items;
    const items = {
      ...around,
      ...cachedItems(this.#caches.cluster),
      ...used,
      pods: [...(around.pods ?? []), ...pods],
    };
    return clusterState(items, this.#o.stated, [], unread);
  }

  /** After rows were made; `isNews`: the findings may be others now. */
  onChange(listener: (isNews: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Why a node has the pool it has: made when somebody asks. */
  detail(name: string): NodeDetail | undefined {
    const node = this.#caches.cluster.nodes.get(name);
    if (node === undefined) return undefined;
    const register = registerOf(this.clusterState());
    const candidates = poolCandidates(register)(node);
    const held = [...register.blocksOf(name)][0]?.pool ?? '';
    return {
      node: name,
      why: held === '' ? '' : whyPool(candidates, held),
      pool: held,
      candidates: candidates.map(({ pool, isSelecting, unmet, priority, obstacle, families }) => ({
        pool,
        isSelecting,
        unmet,
        priority,
        obstacle: obstacle === undefined ? '' : `${obstacle.reason}: ${obstacle.detail}`,
        free: Math.min(...families.map(({ free }) => free)),
      })),
    };
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #listener(): CacheListener {
    const time = this.#time;
    const puts: { [K in CachedKind]?: (next: CachedItems[K], prev?: CachedItems[K]) => void } = {
      nodes: (next, prev) => {
        this.#dirtyNodes.add(next.name);
        time.node(next, prev);
      },
      pools: (next) => this.#dirtyPools.add(next.name),
      blocks: (next, prev) => {
        if (prev !== undefined) this.#forgetBlock(prev);
        const held = this.#blocksOf.get(next.nodeName) ?? new Map<string, Block>();
        this.#blocksOf.set(next.nodeName, held.set(next.name, next));
        this.#dirtyBlocks.add(next.name);
        this.#dirtyNodes.add(next.nodeName);
        time.block(next, prev);
      },
      reports: (next, prev) => {
        this.#dirtyNodes.add(next.name);
        time.report(next, prev);
      },
      peers: (next) => {
        if (next.kind !== 'peer') return;
        const { name, address, asn, localAsn, nodeSelectors } = next.peer;
        const selector = nodeSelectors.map((one) => formatSelector(one)).join(' or ');
        this.#o.state.put('peer', name, { name, address, asn, localAsn, selector });
      },
      events: (next) => time.event(next),
      histories: (next) => {
        for (const log of next.logs) time.history(log);
      },
      ciliumNodes: (next) => this.#dirtyNodes.add(next.name),
    };
    const ends: { [K in CachedKind]?: (last: CachedItems[K]) => void } = {
      nodes: (last) => {
        this.#dirtyNodes.add(last.name);
        time.nodeGone(last);
      },
      pools: (last) => this.#dirtyPools.add(last.name),
      blocks: (last) => {
        this.#forgetBlock(last);
        this.#dirtyBlocks.add(last.name);
        this.#o.state.remove('block', last.prefix.toString());
        time.blockGone(last);
      },
      reports: (last) => this.#dirtyNodes.add(last.name),
      peers: (last) => this.#o.state.remove('peer', last.name),
      ciliumNodes: (last) => this.#dirtyNodes.add(last.name),
    };
    return {
      put: (kind, next, prev) => {
        (puts[kind] as ((next: unknown, prev: unknown) => void) | undefined)?.(next, prev);
        const isNews = news[kind] as ((next: unknown, prev: unknown) => boolean) | undefined;
        this.#touch(isNews?.(next, prev) ?? true);
      },
      gone: (kind, last) => {
        (ends[kind] as ((last: unknown) => void) | undefined)?.(last);
        this.#touch(kind !== 'events' && kind !== 'histories');
      },
    };
  }

  #forgetBlock({ name, nodeName }: Block): void {
    const held = this.#blocksOf.get(nodeName);
    held?.delete(name);
    if (held?.size === 0) this.#blocksOf.delete(nodeName);
    this.#dirtyNodes.add(nodeName);
  }

  async #lookAround(signal: AbortSignal): Promise<void> {
    try {
      await this.#surroundings.look();
    } catch (error) {
      if (signal.aborted) return;
      const words = 'could not read Service networks and settings of other components; retrying';
      this.#o.log.warn({ error: describeError(error) }, words);
    }
    this.#hasLookedAround = true;
    this.#touch(true);
    await this.#surroundings.follow(signal);
  }

  async #followPods(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#used.isDue) {
          await this.#used.look();
          this.#touch(true);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#o.log.warn({ error: describeError(error) }, 'could not list pods; trying again');
      }
      await pause(askForPodsMs, signal);
    }
  }

  #touch(isNews: boolean): void {
    this.#isNews ||= isNews;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#makeRows();
      const wasNews = this.#isNews;
      this.#isNews = false;
      for (const listener of this.#listeners) listener(wasNews);
    }, coalesceMs);
    this.#timer.unref();
  }

  #makeRows(): void {
    const { state } = this.#o;
    const { pools, blocks } = this.#caches.cluster;
    for (const name of this.#dirtyPools) {
      const kept = pools.get(name);
      if (kept === undefined) state.remove('pool', name);
      else state.put('pool', name, poolRow(kept.read));
    }
    for (const name of this.#dirtyBlocks) {
      const block = blocks.get(name);
      if (block === undefined) continue;
      const read = pools.get(block.pool)?.read;
      const cooldown = read?.kind === 'pool' ? read.pool.cooldownSeconds : defaultCooldownSeconds;
      state.put('block', block.prefix.toString(), blockRow(block, cooldown));
    }
    for (const name of this.#dirtyNodes) this.#makeNodeRow(name);
    this.#dirtyPools.clear();
    this.#dirtyBlocks.clear();
    this.#dirtyNodes.clear();
  }

  #makeNodeRow(name: string): void {
    const { state, clock } = this.#o;
    const { nodes, reports, ciliumNodes } = this.#caches.cluster;
    const node = nodes.get(name);
    if (node === undefined) {
      state.remove('node', name);
      return;
    }
    const row = nodeRow({
      node,
      blocks: this.#blocksOf.get(name)?.values() ?? [],
      report: reports.get(name)?.status as NodeReportStatus | undefined,
      cilium: ciliumNodes.get(name)?.podCidrs,
      sinceMs: (peer, sessionState) => {
        const key = `${name} ${peer}`;
        const before = this.#sessionSince.get(key);
        if (before?.state === sessionState) return before.sinceMs;
        const sinceMs = clock.wallMs();
        this.#sessionSince.set(key, { state: sessionState, sinceMs });
        return sinceMs;
      },
    });
    state.put('node', name, row);
  }
}

/** Whether what came can change a finding; a kind that is not named always can. */
const news: {
  [K in CachedKind]?: (next: CachedItems[K], prev: CachedItems[K] | undefined) => boolean;
} = {
  nodes: isNodeNews,
  reports: isReportNews,
  events: () => false,
  histories: () => false,
};
