import { type Clock, systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { HealthChecks } from '../base/health-routes.ts';
import type { Log } from '../base/log.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import { cachedItems } from '../cluster/cluster-caches.ts';
import { Surroundings } from '../cluster/surroundings.ts';
import { pause } from '../kube/backoff.ts';
import { watchesCheck } from '../kube/cache-health.ts';
import type { KubeClient } from '../kube/client.ts';
import { ifFound } from '../kube/get-if-there.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { type ClusterState, clusterState } from '../model/cluster-state.ts';
import { apiVersion, group, version } from '../model/keys.ts';
import type { Finding } from '../plan/blocks/finding.ts';
import { type Intention, intendedActions, planIntentions } from '../plan/blocks/intentions.ts';
import { registerOf } from '../plan/blocks/register-of.ts';
import { type BlockCacheHandlers, type BlockCaches, makeBlockCaches } from './block-caches.ts';
import { hasCiliumNodes } from './cilium-presence.ts';
import { type OperatorSettings, statedByOperator } from './operator-settings.ts';

/**
 * The operator's shadow: it sees what an operator sees and says what one would
 * do, and has no hand that could do it. It takes no lease, registers no resource
 * and writes nothing at all, so the right to get, list and watch is enough, and it
 * may run beside a real operator, or beside whoever allocates today.
 *
 * It thinks anew after a change, but not more often than every few seconds, from
 * nothing: a register made afresh out of the caches.
 */
interface ShadowOptions {
  client: KubeClient;
  settings: OperatorSettings;
  log: Log;
  metrics: Metrics;
  clock?: Clock;
  everyMs?: number;
}

export interface ShadowReport {
  apiVersion: string;
  kind: 'ShadowReport';
  at: string;
  mode: string;
  nodes: number;
  intentions: Intention[];
  findings: Finding[];
}

const usualEveryMs = 5_000;
const lookAroundEveryMs = 60_000;

export class Shadow {
  isSynced = false;
  report: ShadowReport | undefined;
  readonly #o: ShadowOptions;
  readonly #clock: Clock;
  readonly #caches: BlockCaches;
  readonly #surroundings: Surroundings;
  readonly #gauge: Gauge;
  readonly #said = new Set<string>();
  #hasOurs = false;
  #hasCilium = false;
  #isChanged = true;

  constructor(options: ShadowOptions) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
    this.#gauge = options.metrics.gauge(
      'cadastre_shadow_intentions',
      'Shadow mode: writes that an operator would make now, by action.',
    );
    const base = { ...options, clock: this.#clock };
    this.#caches = makeBlockCaches(base, this.#handlers());
    this.#surroundings = new Surroundings({ ...options, kinds: ['serviceCidrs'] });
  }

  /** What /readyz says. */
  get readiness(): HealthChecks {
    const synced = () => ({
      isOk: this.isSynced,
      says: this.isSynced ? 'the caches are synced' : 'the caches are not synced yet',
    });
    return new Map([
      ['caches', synced],
      ['watches', () => watchesCheck(Object.values(this.#caches))],
    ]);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, settings } = this.#o;
    log.info({ mode: settings.mode.name }, 'shadow mode: nothing will be written');
    this.#caches.nodes.start(signal);
    let lookedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      try {
        const nowMs = this.#clock.monotonicMs();
        if (nowMs - lookedMs > lookAroundEveryMs) {
          await this.#lookAround(signal);
          lookedMs = nowMs;
          // What cools down is free after a time, without any change.
          this.#isChanged = true;
        }
        await this.#caches.nodes.synced;
        if (this.#isChanged) this.#think();
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ error: describeError(error) }, 'could not look at the cluster; trying again');
      }
      await pause(this.#o.everyMs ?? usualEveryMs, signal);
    }
  }

  /** What is not registered is empty, until it is. */
  async #lookAround(signal: AbortSignal): Promise<void> {
    const { client, settings } = this.#o;
    const { pools, blocks, reports, ciliumNodes } = this.#caches;
    await this.#surroundings.look();
    if (!this.#hasOurs && (await this.#isServed(`/apis/${group}/${version}`))) {
      this.#hasOurs = true;
      const ours = settings.mode.pools === 'objects' ? [pools, blocks, reports] : [blocks, reports];
      for (const cache of ours) cache.start(signal);
      await Promise.all(ours.map((copy) => copy.synced));
    }
    const { ciliumNode, ciliumPools } = settings.switches;
    const isWanted = ciliumNode || ciliumPools || settings.sources.includes('ciliumnode');
    if (isWanted && !this.#hasCilium && (await hasCiliumNodes(client))) {
      this.#hasCilium = true;
      ciliumNodes.start(signal);
      await ciliumNodes.synced;
    }
  }

  async #isServed(path: string): Promise<boolean> {
    return (await ifFound(this.#o.client.rawGet(path))) !== undefined;
  }

  #think(): void {
    this.#isChanged = false;
    const { settings, log } = this.#o;
    const { mode, rules } = settings;
    const register = registerOf(this.#state(), settings);
    const nodes = register.nodes.size;
    const switches = {
      ...settings.switches,
      ciliumNode: settings.switches.ciliumNode && this.#hasCilium,
    };
    const nowMs = this.#clock.wallMs();
    const { intentions, plan } = mode.allocates
      ? planIntentions(register, { ...rules, switches })
      : { intentions: [], plan: { findings: [] } };
    this.#tell(intentions);
    this.report = {
      apiVersion,
      kind: 'ShadowReport',
      at: new Date(nowMs).toISOString(),
      mode: mode.name,
      nodes,
      intentions,
      findings: plan.findings,
    };
    for (const action of intendedActions) {
      const count = intentions.filter((one) => one.action === action).length;
      this.#gauge.set(count, { action });
    }
    if (!this.isSynced) {
      this.isSynced = true;
      log.info({ nodes, count: intentions.length }, 'caches synced');
    }
  }

  /** Each is said when it comes and when it is no longer so; what stays is in the report. */
  #tell(intentions: readonly Intention[]): void {
    const now = new Map(intentions.map((one) => [JSON.stringify(one), one]));
    for (const [key, { action, node, cidr, pool, detail }] of now) {
      if (this.#said.has(key)) continue;
      const what = cidr === '' ? node : `${cidr} of ${node || 'nobody'}`;
      this.#o.log.info(
        { reason: action, node, block: cidr, pool },
        `would ${action} ${what}: ${detail}`,
      );
    }
    for (const key of this.#said) {
      if (now.has(key)) continue;
      const { action, node, cidr } = JSON.parse(key) as Intention;
      this.#o.log.info(
        { reason: action, node, block: cidr },
        `no longer would ${action} ${cidr || node}`,
      );
    }
    this.#said.clear();
    for (const key of now.keys()) this.#said.add(key);
  }

  #state(): ClusterState {
    const items = { ...this.#surroundings.items, ...cachedItems(this.#caches) };
    return clusterState(items, statedByOperator(this.#o.settings));
  }

  #handlers(): BlockCacheHandlers {
    const handler = <T extends Kept>(): CacheHandler<T> => ({
      onPut: (next, prev) => {
        // The kubelet's heartbeats change the version alone.
        if (prev === undefined || withoutVersion(next) !== withoutVersion(prev))
          this.#isChanged = true;
      },
      onDelete: () => {
        this.#isChanged = true;
      },
    });
    return {
      pools: handler(),
      nodes: handler(),
      blocks: handler(),
      reports: handler(),
      ciliumNodes: handler(),
    };
  }
}

function withoutVersion(kept: Kept): string {
  return JSON.stringify({ ...kept, resourceVersion: '' });
}
