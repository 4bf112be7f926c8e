/**
 * From the API server to rows. Copies change, names become dirty, and a moment
 * later the rows of what is dirty are made anew: a mass join costs as much as
 * its nodes, not their square. The feed only reads.
 */
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import type { CiliumSettings } from '../model/cilium-config.ts';
import { defaultCooldownSeconds } from '../model/ip-pool.ts';
import { formatSelector } from '../model/label-selector.ts';
import { Register } from '../plan/blocks/register.ts';
import type { Evidence, Mode } from '../plan/doctor/evidence.ts';
import { isNodeNews, isReportNews } from '../plan/doctor/news.ts';
import { poolCandidates } from '../plan/pools/pool-candidates.ts';
import { whyPool } from '../plan/pools/why-pool.ts';
import { lookAtCilium } from './cilium-look.ts';
import { type Copies, type CopyListener, makeCopies } from './cluster-copies.ts';
import { evidenceOf } from './evidence.ts';
import { blockRow, nodeRow, poolRow } from './make-rows.ts';
import type { NodeDetail } from './node-detail.ts';
import type { RouterView } from './router-view.ts';
import type { ConsoleState } from './state.ts';
import { TimeLine } from './time-line.ts';

export interface ClusterFeedOptions {
  client: KubeClient;
  state: ConsoleState;
  clock: Clock;
  log: Log;
}

/** News of one breath become one change. */
const coalesceMs = 100;
/** How long a watch may be silent before its source counts as not seen. */
const silentMs = 120_000;
const ciliumEveryMs = 60_000;

export class ClusterFeed {
  /** What an operator would know; for explanations. */
  readonly register = new Register(['ciliumnode', 'spec', 'annotation']);
  readonly copies: Copies;
  readonly #o: ClusterFeedOptions;
  readonly #time: TimeLine;
  readonly #dirtyNodes = new Set<string>();
  readonly #dirtyBlocks = new Set<string>();
  readonly #dirtyPools = new Set<string>();
  readonly #sessionSince = new Map<string, { state: string; sinceMs: number }>();
  readonly #listeners = new Set<(isNews: boolean) => void>();
  /** Since the listeners were told last, something came that the judgement would see. */
  #isNews = false;
  #timer: NodeJS.Timeout | undefined;
  #cilium: CiliumSettings | undefined;

  constructor(options: ClusterFeedOptions) {
    this.#o = options;
    const { client, clock, log, state } = options;
    this.#time = new TimeLine({
      state,
      clock,
      hasHistory: () => this.copies.histories.hasSynced,
    });
    this.copies = makeCopies({ client, clock, log }, this.#listener());
  }

  start(signal: AbortSignal): void {
    for (const copy of Object.values(this.copies)) copy.start(signal);
    void this.#followCilium(signal);
  }

  /** Why it does not know everything yet, if so. */
  notReady(): string | undefined {
    const { nodes, pools, blocks } = this.copies;
    const missing = Object.entries({ nodes, pools, blocks }).filter(([, copy]) => !copy.hasSynced);
    if (missing.length === 0) return undefined;
    return `${missing.map(([name]) => name).join(', ')} are not known yet`;
  }

  /** Sources that could be looked at, for the page that compares them. */
  sources(): Array<{ name: string; detail: string; isSeen: boolean }> {
    const about = (name: string, copy: Copies[keyof Copies]) => {
      const isSeen = copy.hasSynced && copy.silentMs() < silentMs;
      const detail = isSeen ? `${copy.size} seen` : copy.hasSynced ? 'silent' : 'not there';
      return { name, detail, isSeen };
    };
    const { nodes, blocks, reports, ciliumNodes } = this.copies;
    return [
      about('NodeBlock', blocks),
      about('Node', nodes),
      about('NodeReport', reports),
      about('CiliumNode', ciliumNodes),
    ];
  }

  /** Everything seen, as the doctor's judgement takes it. */
  evidence(routers: readonly RouterView[], mode: Mode | undefined): Evidence {
    const { reports, peers } = this.copies;
    const known = [...peers.values()].flatMap((read) => (read.kind === 'peer' ? [read.peer] : []));
    return evidenceOf({
      nowMs: this.#o.clock.wallMs(),
      mode,
      register: this.register,
      reports: [...reports.values()],
      peers: peers.hasSynced ? known : undefined,
      cilium: this.#cilium,
      routers,
      sources: this.sources(),
    });
  }

  /** After rows were made; `isNews`: the findings may be others now. */
  onChange(listener: (isNews: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Why a node has the pool it has: made when somebody asks. */
  detail(name: string): NodeDetail | undefined {
    const node = this.register.nodes.get(name);
    if (node === undefined) return undefined;
    const candidates = poolCandidates(this.register)(node);
    const held = [...this.register.blocksOf(name)][0]?.pool ?? '';
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

  #listener(): CopyListener {
    const { register } = this;
    const time = this.#time;
    const puts: { [K in keyof Copies]: (next: KeptIn<K>, prev: KeptIn<K> | undefined) => void } = {
      nodes: (next, prev) => {
        register.putNode(next);
        this.#dirtyNodes.add(next.name);
        time.node(next, prev);
      },
      pools: (next) => {
        if (next.read.kind === 'pool') register.putPool(next.read.pool);
        else register.removePool(next.name);
        this.#dirtyPools.add(next.name);
      },
      blocks: (next, prev) => {
        register.putBlock(next);
        this.#dirtyBlocks.add(next.name);
        this.#dirtyNodes.add(next.nodeName);
        if (prev !== undefined) this.#dirtyNodes.add(prev.nodeName);
        time.block(next, prev);
      },
      reports: (next, prev) => {
        register.putReport(next);
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
      ciliumNodes: (next) => {
        register.putCiliumNode(next);
        this.#dirtyNodes.add(next.name);
      },
    };
    const ends: { [K in keyof Copies]: (last: KeptIn<K>) => void } = {
      nodes: (last) => {
        register.removeNode(last.name);
        this.#dirtyNodes.add(last.name);
        time.nodeGone(last);
      },
      pools: (last) => {
        register.removePool(last.name);
        this.#dirtyPools.add(last.name);
      },
      blocks: (last) => {
        register.removeBlock(last.name);
        this.#dirtyBlocks.add(last.name);
        this.#dirtyNodes.add(last.nodeName);
        this.#o.state.remove('block', last.prefix.toString());
        time.blockGone(last);
      },
      reports: (last) => {
        register.removeReport(last.name);
        this.#dirtyNodes.add(last.name);
      },
      peers: (last) => this.#o.state.remove('peer', last.name),
      // Events expire after an hour; what they told stays told.
      events: () => {},
      histories: () => {},
      ciliumNodes: (last) => {
        register.removeCiliumNode(last.name);
        this.#dirtyNodes.add(last.name);
      },
    };
    return {
      put: (kind, next, prev) => {
        (puts[kind] as (next: unknown, prev: unknown) => void)(next, prev);
        this.#touch((news[kind] as (next: unknown, prev: unknown) => boolean)(next, prev));
      },
      gone: (kind, last) => {
        (ends[kind] as (last: unknown) => void)(last);
        this.#touch(!isOfTheTimeOnly(kind));
      },
    };
  }

  async #followCilium(signal: AbortSignal): Promise<void> {
    const { client, log } = this.#o;
    while (!signal.aborted) {
      try {
        const cilium = await lookAtCilium(client);
        const isNews = JSON.stringify(cilium) !== JSON.stringify(this.#cilium);
        this.#cilium = cilium;
        if (isNews) this.#touch(true);
      } catch (error) {
        if (!signal.aborted) log.debug({ error: describeError(error) }, 'could not look at Cilium');
      }
      await pause(ciliumEveryMs, signal);
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
    const { pools } = this.copies;
    for (const name of this.#dirtyPools) {
      const kept = pools.get(name);
      if (kept === undefined) state.remove('pool', name);
      else state.put('pool', name, poolRow(kept.read));
    }
    for (const name of this.#dirtyBlocks) {
      const block = this.register.blocks.get(name);
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
    const node = this.register.nodes.get(name);
    if (node === undefined) {
      state.remove('node', name);
      return;
    }
    const row = nodeRow({
      node,
      blocks: this.register.blocksOf(name),
      report: this.copies.reports.get(name)?.status,
      cilium: this.register.ciliumNodes.get(name)?.podCidrs,
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

/** Whether what came can change a finding. Pods that come and go change rows only. */
const news: {
  [K in keyof Copies]: (next: KeptIn<K>, prev: KeptIn<K> | undefined) => boolean;
} = {
  nodes: isNodeNews,
  pools: () => true,
  blocks: () => true,
  reports: isReportNews,
  peers: () => true,
  events: () => false,
  histories: () => false,
  ciliumNodes: () => true,
};

const isOfTheTimeOnly = (kind: keyof Copies) => kind === 'events' || kind === 'histories';

type KeptIn<K extends keyof Copies> = NonNullable<ReturnType<Copies[K]['get']>>;
