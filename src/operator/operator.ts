import { type Clock, systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { ensureCrds } from '../kube/crds.ts';
import { EventRecorder } from '../kube/events.ts';
import { KeyedQueue } from '../kube/keyed-queue.ts';
import { Leadership } from '../kube/lease.ts';
import type { LeaseTimings } from '../kube/lease-timings.ts';
import { revisionAnnotation } from '../model/crd.ts';
import { crds } from '../model/crds.ts';
import type { Pool } from '../model/ip-pool.ts';
import type { ClusterNode } from '../model/node.ts';
import { decideNode, type Rules } from '../plan/blocks/decide-node.ts';
import type { HoldingSource } from '../plan/blocks/holdings.ts';
import type { ProjectionSwitches } from '../plan/blocks/projection.ts';
import { Register } from '../plan/blocks/register.ts';
import { compareText, type NamedNetwork } from '../plan/pools/pool-set.ts';
import { BlockWorker } from './block-worker.ts';
import { BlockWriter } from './block-writer.ts';
import { Chronicler, type ChroniclerPace } from './chronicler.ts';
import { hasCiliumNodes, untilCiliumNodes } from './cilium-presence.ts';
import { type Copies, makeCopies } from './copies.ts';
import { driftEvidence, onEveryChange } from './drift-evidence.ts';
import { DriftWatch } from './drift-watch.ts';
import { ForeignLand } from './foreign-land.ts';
import { Intake } from './intake.ts';
import { LoadBalancer } from './load-balancer.ts';
import { NodeReporter } from './node-reporter.ts';
import { NodeWorker } from './node-worker.ts';
import { PoolWorker } from './pool-worker.ts';
import { Projector } from './projector.ts';
import type { Provider } from './providers.ts';
import { untilDone } from './until-done.ts';

/**
 * The operator: copies of the cluster's objects flow into the register; what
 * changes puts keys into three queues (nodes, blocks, pools); the workers ask
 * `plan` and write with the hands of `kube`. Addresses of Services are given
 * beside that, in every mode (load-balancer.ts).
 *
 * What it promises, and what each promise rests on:
 *  - No block is given twice: creating the NodeBlock is the allocation, and the
 *    API server refuses a second one of that name. Not the lease, not a cache.
 *  - Nothing is cut before all that exists is known: a new leader lists the
 *    blocks afresh after it won the lease, adopts, and only then assigns.
 *  - A process that was frozen past its lease writes nothing: leadership is
 *    judged by monotonic time at every single write.
 *  - Standbys keep their copies warm, so that a take-over costs one list.
 */
export interface OperatorSettings {
  provider: Provider;
  rules: Rules;
  sources: readonly HoldingSource[];
  clusterPool: Pool | undefined;
  serviceNetworks: readonly NamedNetwork[];
  switches: ProjectionSwitches;
  lease: { namespace: string; name: string; identity: string; timings?: LeaseTimings | undefined };
  /** Where `address-pools` of MetalLB's and Cilium's form are, if anywhere. */
  configMap?: { namespace: string; name: string } | undefined;
  /** Between two passes of the continuous comparison; 0 makes none. */
  driftEveryMs?: number | undefined;
  /** Writes under way at once. */
  concurrency: number;
  /** How often and how soon; the usual ones are for a cluster, a test is in a hurry. */
  intervals?: { ciliumNodesMs?: number; history?: ChroniclerPace } | undefined;
}

export interface OperatorOptions {
  client: KubeClient;
  settings: OperatorSettings;
  log: Log;
  metrics: Metrics;
  clock?: Clock;
}

/** This process does not lead (any more); what it was about to write is dropped. */
class NotLeading extends Error {}

const serviceNetworksEveryMs = 5 * 60_000;
const usualDriftEveryMs = 30_000;

export class Operator {
  readonly register: Register;
  readonly #o: OperatorOptions;
  readonly #clock: Clock;
  readonly #intake: Intake;
  readonly #copies: Copies;
  readonly #leadership: Leadership;
  readonly #chronicler: Chronicler;
  readonly #drift: DriftWatch;
  readonly #events: EventRecorder;
  readonly #reporter: NodeReporter;
  readonly #projector: Projector;
  readonly #nodeWorker: NodeWorker;
  readonly #blockWorker: BlockWorker;
  readonly #poolWorker: PoolWorker;
  readonly #nodeQueue: KeyedQueue;
  readonly #blockQueue: KeyedQueue;
  readonly #poolQueue: KeyedQueue;
  readonly #loadBalancer: LoadBalancer;
  readonly #land: ForeignLand;
  #usesCiliumNodes = false;
  /** What was switched off because the cluster had no such resource when we came. */
  #ciliumLater: { isProjected: boolean } | undefined;
  #isSynced = false;
  #listsBeganMs = Number.POSITIVE_INFINITY;
  /** Counts the times this process became leader; a take-over of an older term stops. */
  #term = 0;
  #servedTerm = 0;
  #leadsSinceMs = 0;

  constructor(options: OperatorOptions) {
    this.#o = options;
    const { client, settings, log, metrics } = options;
    const clock = options.clock ?? systemClock;
    this.#clock = clock;
    this.register = new Register(settings.sources);
    this.#land = new ForeignLand({
      client,
      register: this.register,
      told: settings.serviceNetworks,
      clusterPool: settings.clusterPool,
    });
    this.#intake = new Intake({
      register: this.register,
      nodes: (name) => {
        this.#land.nodesChanged();
        this.#nodeQueue.add(name);
      },
      blocks: (name) => this.#blockQueue.add(name),
      pools: (name, afterMs) => {
        this.#poolQueue.addAfter(name, afterMs);
        // Land for pods may have come upon land for Services, or left it.
        if (afterMs === 0) this.#loadBalancer.landChanged();
      },
      unserved: () => this.#reporter.unserved.keys(),
      forget: (name) => {
        this.#reporter.forget(name);
        this.#projector.forget(name);
      },
    });
    this.#chronicler = new Chronicler({
      client,
      clock,
      log,
      metrics,
      register: this.register,
      isLeading: () => this.#nodeWorker.mayAssign && this.#leadership.isLeader(),
      isBusy: () => this.#nodeQueue.depth > 0,
      pace: settings.intervals?.history,
    });
    const heard = this.#chronicler.listenTo(this.#intake.handlers);
    const handlers = onEveryChange(heard, () => this.#drift.changed());
    this.#copies = makeCopies({ client, clock, log, metrics }, handlers);
    const base = { client, clock, log, metrics, assertLeading: () => this.#assertLeading() };
    const { identity } = settings.lease;
    this.#events = new EventRecorder({
      ...base,
      component: 'cadastre-operator',
      instance: identity,
    });
    this.#leadership = new Leadership({
      ...base,
      ...settings.lease,
      onAcquired: () => this.#acquired(),
      onLost: (why) => this.#stepDown(why),
    });
    const nodeStore = this.#copies.nodes;
    const writer = new BlockWriter({ ...base, store: this.#copies.blocks });
    const { register } = this;
    this.#reporter = new NodeReporter({ ...base, events: this.#events, nodeStore });
    this.#drift = new DriftWatch({
      ...base,
      everyMs: settings.driftEveryMs ?? usualDriftEveryMs,
      evidence: () => driftEvidence(settings, this.#copies, this.#land.networks, clock.wallMs()),
      nodeOf: (name) => this.register.nodes.get(name),
      nodeStore,
      isLeading: () => this.#nodeWorker.mayAssign && this.#leadership.isLeader(),
      isBusy: () => this.#nodeQueue.depth + this.#nodeQueue.running > 0,
      isTold: (node, reason) =>
        this.#reporter.findings.get(node)?.some((known) => known.reason === reason) ?? false,
      event: (node, type, reason, message) => this.#reporter.event(node, type, reason, message),
    });
    this.#poolWorker = new PoolWorker({
      ...base,
      register,
      readOf: (name) => this.#copies.pools.get(name)?.read,
      poolStore: this.#copies.pools,
    });
    this.#projector = new Projector({
      ...base,
      register,
      writer,
      switches: settings.switches,
      nodeStore,
      ciliumStore: this.#copies.ciliumNodes,
      report: ({ node }, reason, message) => {
        log.warn({ reason, node: node.name }, message);
        this.#reporter.event(node, 'Warning', reason, message);
      },
    });
    this.#nodeWorker = new NodeWorker({
      ...base,
      register,
      rules: settings.rules,
      writer,
      projector: this.#projector,
      reporter: this.#reporter,
      othersWait: () => this.#nodeQueue.depth > 0,
      holdPool: (pool) => this.#poolWorker.hold(pool),
      onGiven: (cidr, by) => this.#chronicler.given(cidr, by),
    });
    this.#loadBalancer = new LoadBalancer({
      ...base,
      events: this.#events,
      configMap: settings.configMap,
      guard: (work) => this.#ifLeading(work),
      foreignLands: () => this.#land.ofServices(),
      isNodeAddress: (address) => this.#land.isOfNode(address),
    });
    const { byDemand } = settings.provider;
    this.#blockWorker = new BlockWorker({
      ...base,
      register,
      writer,
      byDemand,
      nodeStore,
      ciliumStore: () => (this.#usesCiliumNodes ? this.#copies.ciliumNodes : undefined),
    });
    const queue = (name: string, concurrency: number, worker: Worker): KeyedQueue => {
      const made: KeyedQueue = new KeyedQueue({
        name,
        concurrency,
        log,
        metrics,
        work: (key) => this.#work(made, worker, key),
        backoff: { baseMs: 50, capMs: 30_000 },
      });
      return made;
    };
    this.#nodeQueue = queue('nodes', settings.concurrency, this.#nodeWorker);
    this.#blockQueue = queue('blocks', Math.min(16, settings.concurrency), this.#blockWorker);
    this.#poolQueue = queue('pools', 4, this.#poolWorker);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get isLeader(): boolean {
    return this.#leadership.isLeader();
  }

  /** Runs until the signal aborts; then stops cleanly and gives the lease back. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#o;
    const { allocates, name, description } = this.#o.settings.provider;
    if (!allocates) log.info({ mode: name }, `mode ${name}: ${description}`);
    try {
      // The lists need not wait for this: a copy of what is not registered yet waits by itself.
      // Each for itself: with a server that fails now and then, all at once would hardly ever do.
      const registered = Promise.all(
        crds.map((crd) =>
          untilDone(
            `register ${crd.metadata.name}`,
            (attempt) =>
              ensureCrds(this.#o.client, [crd], log, { signal: attempt, revisionAnnotation }),
            { signal, log },
          ),
        ),
      );
      registered.catch(() => {});
      await untilDone('look at the cluster', () => this.#lookAround(), { signal, log });
      // One try for the lease before the lists begin: lists that began after it was won are fresh enough.
      await this.#leadership.tryOnce();
      if (allocates) this.#startCopies(signal);
      this.#loadBalancer.start(signal, () => this.#serveServices());
      const election = this.#leadership.run(signal);
      await Promise.all([registered, allocates ? this.#whenSynced() : undefined]);
      this.#isSynced = true;
      const { nodes, blocks } = this.#copies;
      if (allocates) {
        log.info({ nodes: nodes.size, blocks: blocks.size }, 'everything that exists is known');
        if (this.isLeader) void this.#takeOver(this.#term);
      }
      this.#serveServices();
      const refresh = setInterval(
        () => void this.#refreshServiceNetworks(),
        serviceNetworksEveryMs,
      );
      const beside = allocates
        ? Promise.all([
            this.#chronicler.run(signal),
            this.#drift.run(signal),
            this.#useCiliumNodesLater(signal),
          ])
        : undefined;
      await aborted(signal);
      clearInterval(refresh);
      await beside;
      await election;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#shutDown();
    }
  }

  async #lookAround(): Promise<void> {
    const { settings, log } = this.#o;
    if (settings.clusterPool !== undefined) this.register.putPool(settings.clusterPool);
    await this.#readServiceNetworks();
    const wanted = settings.switches.ciliumNode || settings.sources.includes('ciliumnode');
    this.#usesCiliumNodes = wanted && (await hasCiliumNodes(this.#o.client));
    if (!wanted || this.#usesCiliumNodes) return;
    const message = 'the cluster has no CiliumNode resource yet; it is neither read nor written';
    if (settings.switches.ciliumNode) log.warn({}, message);
    else log.debug({}, message);
    this.#ciliumLater = { isProjected: settings.switches.ciliumNode };
    settings.switches.ciliumNode = false;
  }

  /** Once they are there they are read, and whoever waits for what we write there is served. */
  async #useCiliumNodesLater(signal: AbortSignal): Promise<void> {
    const { client, settings, log } = this.#o;
    const later = this.#ciliumLater;
    if (
      later === undefined ||
      !(await untilCiliumNodes(client, log, signal, settings.intervals?.ciliumNodesMs))
    )
      return;
    const copy = this.#copies.ciliumNodes;
    copy.start(signal);
    await copy.synced.catch(() => {});
    if (signal.aborted) return;
    this.#usesCiliumNodes = true;
    settings.switches.ciliumNode = later.isProjected;
    log.info({ nodes: copy.size }, 'the cluster has CiliumNodes now');
    for (const name of this.register.nodes.keys()) this.#nodeQueue.add(name);
  }

  #startCopies(signal: AbortSignal): void {
    this.#listsBeganMs = this.#clock.monotonicMs();
    const { pools, nodes, blocks, reports, ciliumNodes } = this.#copies;
    if (this.#o.settings.provider.pools === 'objects') pools.start(signal);
    for (const copy of [nodes, blocks, reports]) copy.start(signal);
    if (this.#usesCiliumNodes) ciliumNodes.start(signal);
  }

  #whenSynced(): Promise<unknown> {
    const { pools, nodes, blocks, reports, ciliumNodes } = this.#copies;
    const waiting = [nodes.synced, blocks.synced, reports.synced];
    if (this.#o.settings.provider.pools === 'objects') waiting.push(pools.synced);
    if (this.#usesCiliumNodes) waiting.push(ciliumNodes.synced);
    return Promise.all(waiting);
  }

  #acquired(): void {
    this.#term += 1;
    this.#leadsSinceMs = this.#clock.monotonicMs();
    const { allocates } = this.#o.settings.provider;
    if (allocates) this.#chronicler.lookThrough();
    if (this.#isSynced && allocates) void this.#takeOver(this.#term);
    this.#serveServices();
  }

  /** When this process leads, and knows both what nodes and what Services hold. */
  #serveServices(): void {
    if (!this.#isSynced || !this.#loadBalancer.isSynced || !this.isLeader) return;
    const term = this.#term;
    if (this.#servedTerm === term) return;
    this.#servedTerm = term;
    void this.#loadBalancer.takeOver(this.#leadsSinceMs, () => term === this.#term);
  }

  #stepDown(why: string): void {
    this.#term += 1;
    this.#nodeWorker.mayAssign = false;
    this.#reporter.forgetAll();
    this.#drift.forgetAll();
    this.#poolWorker.forgetAll();
    this.#loadBalancer.stepDown();
    this.#o.log.info({ why }, 'this replica no longer leads');
  }

  async #takeOver(term: number): Promise<void> {
    const { log } = this.#o;
    try {
      // Blocks that another leader wrote before we won may not have reached our copy.
      if (this.#listsBeganMs < this.#leadsSinceMs) await this.#copies.blocks.relist();
      if (term !== this.#term) return;
      const order = this.#nodesInOrder();
      let adopting = 0;
      const waiting = new Set<string>();
      for (const node of order) {
        const { adopt, rebind, assign } = decideNode(this.register, node, this.#o.settings.rules);
        if (assign.length > 0) waiting.add(node.name);
        if (adopt.length + rebind.length === 0) continue;
        adopting += 1;
        this.#nodeQueue.add(node.name);
      }
      if (adopting > 0) log.info({ nodes: adopting }, 'taking over blocks that nodes hold already');
      await this.#nodeQueue.idle();
      if (term !== this.#term) return;
      this.#nodeWorker.mayAssign = true;
      log.info({ nodes: order.length, adopted: adopting }, 'this replica leads and allocates');
      // Who waits for a block comes before those that only need a look.
      for (const name of waiting) this.#nodeQueue.add(name);
      for (const node of this.#nodesInOrder()) this.#nodeQueue.add(node.name);
      for (const name of this.register.blocks.keys()) this.#blockQueue.add(name);
      for (const pool of this.register.poolSet.pools) this.#poolQueue.add(pool.name);
    } catch (error) {
      log.error({ error: describeError(error) }, 'could not take over; trying again');
      setTimeout(() => term === this.#term && void this.#takeOver(term), 1_000).unref();
    }
  }

  /** The order of the dry run: oldest first, then by name. */
  #nodesInOrder(): ClusterNode[] {
    return [...this.register.nodes.values()].sort(
      (a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name),
    );
  }

  #assertLeading(): void {
    if (!this.#leadership.isLeader()) throw new NotLeading('this replica does not lead');
  }

  async #work(queue: KeyedQueue, worker: Worker, key: string): Promise<void> {
    await this.#ifLeading(async () => {
      const outcome = await worker.reconcile(key);
      if (outcome?.retryAfterMs !== undefined) queue.addAfter(key, outcome.retryAfterMs);
    });
  }

  async #ifLeading(work: () => Promise<unknown>): Promise<void> {
    if (!this.#isSynced || !this.#leadership.isLeader()) return;
    try {
      await work();
    } catch (error) {
      if (error instanceof NotLeading) return;
      throw error;
    }
  }

  async #refreshServiceNetworks(): Promise<void> {
    try {
      await this.#readServiceNetworks();
      this.#intake.landChanged();
    } catch (error) {
      this.#o.log.warn({ error: describeError(error) }, 'could not read the Service networks');
    }
  }

  async #readServiceNetworks(): Promise<void> {
    await this.#land.read();
    const { networks } = this.#land;
    this.#intake.watchingPools(() => this.register.putNetworks('services', networks));
  }

  async #shutDown(): Promise<void> {
    this.#intake.stop();
    await Promise.all([
      this.#nodeQueue.stop(),
      this.#blockQueue.stop(),
      this.#poolQueue.stop(),
      this.#loadBalancer.stop(),
    ]);
    await this.#leadership.release();
    await this.#events.stop();
  }
}

interface Worker {
  reconcile(key: string): Promise<{ retryAfterMs?: number } | undefined>;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}
