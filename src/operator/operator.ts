import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { HealthChecks } from '../base/health-routes.ts';
import type { Log } from '../base/log.ts';
import type { CacheState } from '../kube/cache-health.ts';
import { whenAborted } from '../kube/on-abort.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { AttributionWatch } from './attribution-watch.ts';
import type { BlockCaches } from './block-caches.ts';
import type { BlockHistoryWriter } from './block-history-writer.ts';
import type { ChangeRouter } from './change-router.ts';
import type { CiliumPresence } from './cilium-presence.ts';
import type { DefinitionKeeper } from './definition-keeper.ts';
import type { DriftWatch } from './drift-watch.ts';
import type { ExcludedNetworks } from './excluded-networks.ts';
import type { LoadBalancer } from './load-balancer.ts';
import { operatorReadiness } from './operator-readiness.ts';
import type { OperatorSettings } from './operator-settings.ts';
import type { RestoreWatch } from './restore-watch.ts';
import type { ServiceCaches } from './service-caches.ts';
import type { SettingsReporter } from './settings-reporter.ts';
import type { TakeOver } from './take-over.ts';
import type { Term, Terms } from './terms.ts';
import { untilDone } from './until-done.ts';
import type { OperatorQueues } from './work-queue.ts';

export type { OperatorSettings } from './operator-settings.ts';

/**
 * The room's essay. The operator follows the cluster's objects and gives every node
 * its blocks:
 *
 *   operator-settings   what it is started with, and the defaults
 *   assemble-operator   the parts put together; the only place that does
 *   operator (here)     start, run, stop
 *   definition-keeper   registers the custom resources, again when somebody deletes one
 *   operator-readiness  what /readyz says
 *   terms               who leads, and what a leader may do yet
 *   take-over           what a new leader does first: list afresh, adopt, then assign
 *   restore-watch       the store went back in time: the leader takes over once more
 *   block-caches        the objects that blocks are decided by
 *   attribution-watch   whether reports can be attributed to the agents of their nodes
 *   change-router       a change ─▶ the register ─▶ the keys it concerns
 *   work-queue          keys ─▶ a worker, while this replica leads
 *   node-, block-, pool-worker   ask `plan`, write, ask again until nothing is left
 *   block-writer, projector, node-reporter   what they write: blocks, projections, conditions
 *   load-balancer, service-*     addresses of Services, beside all that, in every mode
 *   block-history-writer, drift-watch, settings-reporter   what comes after everything else
 *
 * What it promises, and what each promise depends on:
 *  - No block is given twice: creating the NodeBlock is the allocation, and the
 *    API server refuses a second one of that name. Not the lease, not a cache.
 *  - Nothing is cut before all that exists is known: a new leader lists the
 *    blocks afresh after it won the lease, adopts, and only then assigns.
 *  - A process that was frozen past its lease writes nothing: leadership is
 *    judged by monotonic time at every single write.
 *  - Standbys keep their caches warm, so that a take-over costs one list.
 */
interface OperatorParts {
  settings: OperatorSettings;
  clock: Clock;
  log: Log;
  register: Register;
  caches: BlockCaches;
  serviceCaches: ServiceCaches;
  terms: Terms;
  definitions: DefinitionKeeper;
  attribution: AttributionWatch;
  cilium: CiliumPresence;
  excluded: ExcludedNetworks;
  events: { stop(): Promise<void> };
  queues: OperatorQueues;
  takeOver: TakeOver;
  restores: RestoreWatch;
  loadBalancer: LoadBalancer;
  history: BlockHistoryWriter;
  drift: DriftWatch;
  settingsReporter: SettingsReporter;
  router: ChangeRouter;
  /** Whatever reports what only a leader finds: a replica that stands by forgets it. */
  reporters: ReadonlyArray<{ forgetAll(): void }>;
}

export class Operator {
  readonly #o: OperatorParts;
  #isSynced = false;
  #followed: readonly CacheState[] = [];
  #listedSinceMs = Number.POSITIVE_INFINITY;

  constructor(parts: OperatorParts) {
    this.#o = parts;
    parts.terms.onBegin = () => this.#lead();
    parts.terms.onEnd = (why) => this.#stepDown(why);
    parts.restores.onNoticed = () => this.#startOver();
  }

  /** All caches have listed what exists. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get isLeader(): boolean {
    return this.#o.terms.isLeading;
  }

  /** What /readyz says. */
  get readiness(): HealthChecks {
    const { terms, definitions, serviceCaches, cilium, caches } = this.#o;
    return operatorReadiness({
      isSynced: () => this.#isSynced,
      terms,
      definitions,
      caches: () => [
        ...this.#followed,
        // Those may come later than the others.
        ...(this.#followed.length > 0 && cilium.isUsed ? [caches.ciliumNodes] : []),
      ],
      serviceCaches,
    });
  }

  get register(): Register {
    return this.#o.register;
  }

  /** Runs until the signal aborts; then stops cleanly and gives the lease back. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, terms, definitions, caches, serviceCaches, log } = this.#o;
    const { allocates, name, description } = settings.mode;
    if (!allocates) log.info({ mode: name }, `mode ${name}: ${description}`);
    try {
      // The lists need not wait for this: a cache of what is not registered yet waits by itself.
      const registered = definitions.register(signal);
      registered.catch(() => {});
      await untilDone(
        'read the Service networks, API groups and policy',
        () => this.#lookAround(),
        {
          signal,
          log,
        },
      );
      // One try for the lease before the lists begin: lists that began after it was won are fresh enough.
      await terms.tryOnce();
      const synced = allocates ? this.#startCaches(signal) : undefined;
      serviceCaches.start(signal).then(
        () => this.#lead(),
        () => undefined,
      );
      const election = terms.run(signal);
      await Promise.all([registered, synced]);
      this.#isSynced = true;
      const { nodes, blocks } = caches;
      if (allocates) {
        log.info({ nodes: nodes.size, blocks: blocks.size }, 'caches synced');
      }
      this.#lead();
      await this.#untilStopped(signal);
      await election;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#shutDown();
    }
  }

  async #lookAround(): Promise<void> {
    const { settings, register, cilium, attribution } = this.#o;
    if (settings.clusterPool !== undefined) register.putPool(settings.clusterPool);
    await this.#readServiceNetworks();
    if (settings.mode.allocates) await attribution.look();
    await cilium.look();
  }

  async #startCaches(signal: AbortSignal): Promise<void> {
    const { clock, caches, settings, cilium } = this.#o;
    this.#listedSinceMs = clock.monotonicMs();
    const { nodes, blocks, reports } = caches;
    const ours = [
      ...(settings.mode.pools === 'objects' ? [caches.pools] : []),
      ...[nodes, blocks, reports],
    ];
    this.#followed = ours;
    const all = [...ours, ...(cilium.isUsed ? [caches.ciliumNodes] : [])];
    for (const cache of all) cache.start(signal);
    await Promise.all(all.map(({ synced }) => synced));
  }

  /** What goes on beside the queues until the end. */
  async #untilStopped(signal: AbortSignal): Promise<void> {
    const { settings, definitions, attribution, history, drift, cilium, caches, router } = this.#o;
    const { settingsReporter } = this.#o;
    const { surroundingsMs } = settings.intervals;
    const refresh = setInterval(() => void this.#refreshServiceNetworks(), surroundingsMs);
    const kept = definitions.keep(signal);
    const reported = settingsReporter.run(signal);
    if (settings.mode.allocates) {
      await Promise.all([
        attribution.run(signal),
        history.run(signal),
        drift.run(signal),
        // Whoever waits for what is written there is served now.
        cilium.untilUsed(caches.ciliumNodes, signal, () => router.everything()),
      ]);
    }
    await Promise.all([kept, reported, whenAborted(signal)]);
    clearInterval(refresh);
  }

  /** When this replica leads and knows everything: blocks, and apart from them Services. */
  #lead(): void {
    const { settings, terms, takeOver, loadBalancer, history } = this.#o;
    const term: Term | undefined = terms.current;
    if (!this.#isSynced || term === undefined) return;
    if (!term.isServing) {
      term.isServing = true;
      if (settings.mode.allocates) {
        history.compareAll();
        void takeOver.run(term, this.#listedSinceMs);
      }
    }
    void loadBalancer.takeOver(term);
  }

  #startOver(): void {
    const { settings, terms, takeOver } = this.#o;
    const term = terms.current;
    if (settings.mode.allocates && term?.isServing) takeOver.startOver(term);
  }

  #stepDown(why: string): void {
    for (const reporter of this.#o.reporters) reporter.forgetAll();
    this.#o.log.info({ detail: why }, 'this replica no longer leads');
  }

  async #refreshServiceNetworks(): Promise<void> {
    try {
      await this.#readServiceNetworks();
      this.#o.router.addressSpaceChanged();
    } catch (error) {
      this.#o.log.warn(
        { error: describeError(error) },
        'could not read the Service networks; the last known ones stay excluded',
      );
    }
  }

  async #readServiceNetworks(): Promise<void> {
    const { excluded, router, register } = this.#o;
    await excluded.read();
    router.watchingPools(() => register.putNetworks(excluded.networks));
  }

  async #shutDown(): Promise<void> {
    const { router, queues, loadBalancer, terms, events } = this.#o;
    router.stop();
    await Promise.all([
      queues.nodes.stop(),
      queues.blocks.stop(),
      queues.pools.stop(),
      loadBalancer.stop(),
    ]);
    await terms.release();
    await events.stop();
  }
}
