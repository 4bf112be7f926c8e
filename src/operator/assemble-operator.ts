import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { cachedItems } from '../cluster/cluster-caches.ts';
import { Surroundings } from '../cluster/surroundings.ts';
import { UsedAddresses } from '../cluster/used-addresses.ts';
import type { KubeClient } from '../kube/client.ts';
import { EventRecorder } from '../kube/events.ts';
import { clusterState } from '../model/cluster-state.ts';
import { noHeardRouters } from '../plan/blocks/heard-routers.ts';
import { Register } from '../plan/blocks/register.ts';
import type { RouterWitness } from '../witness/witness.ts';
import { AttributionWatch } from './attribution-watch.ts';
import { makeBlockCaches, relistAll } from './block-caches.ts';
import { BlockHistoryWriter } from './block-history-writer.ts';
import { BlockWorker } from './block-worker.ts';
import { BlockWriter } from './block-writer.ts';
import { CacheEvents } from './cache-events.ts';
import { ChangeRouter } from './change-router.ts';
import { CiliumPresence } from './cilium-presence.ts';
import { DefinitionKeeper } from './definition-keeper.ts';
import { driftEvidence, onEveryChange } from './drift-evidence.ts';
import { DriftWatch } from './drift-watch.ts';
import { ExcludedNetworks } from './excluded-networks.ts';
import { HistoryBacklog } from './history-backlog.ts';
import { LoadBalancer } from './load-balancer.ts';
import { NodeReporter } from './node-reporter.ts';
import { NodeWorker } from './node-worker.ts';
import { Operator } from './operator.ts';
import { type OperatorSettings, statedByOperator } from './operator-settings.ts';
import { PoolWorker } from './pool-worker.ts';
import { Projector } from './projector.ts';
import { ReleaseReporter } from './release-reporter.ts';
import { ReportCleaner } from './report-cleaner.ts';
import { RestCounter } from './rest-counter.ts';
import { RestoreWatch } from './restore-watch.ts';
import { ServiceCaches } from './service-caches.ts';
import { SettingsReporter } from './settings-reporter.ts';
import { TakeOver } from './take-over.ts';
import { Terms } from './terms.ts';
import { WitnessSearch } from './witness-search.ts';
import { type OperatorQueues, type Worker, WorkQueue } from './work-queue.ts';

interface OperatorOptions {
  client: KubeClient;
  settings: OperatorSettings;
  log: Log;
  metrics: Metrics;
  clock?: Clock;
  /** Routers that say what they hold, if any are listened to. */
  witness?: RouterWitness | undefined;
}

/**
 * The operator out of its parts: the same wiring on the command line, in `cadastre
 * up` and in tests. Each part is made of parts that are there already; what closes
 * the circle is that those who listen to the caches are added to them last, before
 * anything is started.
 */
export function assembleOperator(options: OperatorOptions): Operator {
  const { client, settings, log, metrics, clock = systemClock, witness } = options;
  const common = { client, clock, log, metrics };
  const terms = new Terms({ ...common, ...settings.lease });
  const register = new Register(settings.sources, settings.rules.byDemand, settings.compared);
  const cacheEvents = new CacheEvents();
  const restores = new RestoreWatch({ register, log });
  cacheEvents.add(restores.handlers);
  const caches = makeBlockCaches(common, cacheEvents, (kind) =>
    restores.noticed(`the ${kind} of the API server are older than what it sent before`),
  );
  const cilium = new CiliumPresence({ client, settings, log });
  const surroundings = new Surroundings({ client, log, bgpConfigMap: settings.configMap });
  const excluded = new ExcludedNetworks({
    surroundings,
    register,
    stated: settings.serviceNetworks,
    clusterPool: settings.clusterPool,
  });

  const base = { ...common, register, assertLeading: () => terms.assertLeading() };
  const { identity } = settings.lease;
  const events = new EventRecorder({ ...base, component: 'cadastre-operator', instance: identity });
  const { definitionsMs: everyMs } = settings.intervals;
  const isReadOnly = settings.crds === 'await';
  const definitions = new DefinitionKeeper({ client, events, log, everyMs, isReadOnly });
  const reporter = new NodeReporter({ ...base, events, nodeStore: caches.nodes });
  const writer = new BlockWriter({ ...base, store: caches.blocks });
  const stores = { nodeStore: caches.nodes, ciliumStore: caches.ciliumNodes };
  const { switches } = settings;
  const projector = new Projector({ ...base, ...stores, writer, switches, cilium, reporter });
  const backlog = new HistoryBacklog({ register, clock });

  const poolWorker = new PoolWorker({ ...base, poolCache: caches.pools });
  const rest = new RestCounter({ clock, term: () => terms.current });
  const reports = new ReportCleaner({ ...base, reportStore: caches.reports });
  const releases = new ReleaseReporter({ ...base, writer, events });
  const peers = () => {
    const { peers: objects, configMaps } = surroundings.items;
    return clusterState({ peers: objects, configMaps }, statedByOperator(settings)).peers;
  };
  const reportStore = caches.reports;
  const attribution = new AttributionWatch({
    ...base,
    belief: settings.believeReports,
    everyMs: settings.intervals.attributionMs,
    onChange: () => router.everyBlock(),
  });
  const search = new WitnessSearch({
    ...base,
    ...stores,
    reportStore,
    attribution,
    heard: witness ?? noHeardRouters,
    peers,
  });
  const { byDemand } = settings.mode;
  const blockWorker = new BlockWorker({
    ...base,
    ...stores,
    writer,
    byDemand,
    cilium,
    rest,
    search,
    attribution,
    reporter: releases,
    reports,
  });
  const nodeWorker = new NodeWorker({
    ...base,
    rules: settings.rules,
    writer,
    projector,
    reporter,
    mayAdopt: () => terms.mayAdopt,
    mayAssign: () => terms.mayAssign,
    waitsFor: () => terms.waitsFor,
    holdPool: (pool) => poolWorker.hold(pool),
    freeBlock: (block) => blockWorker.free(block),
    onAssigned: (cidr, by) => backlog.assigned(cidr, by),
  });
  const queue = (name: string, concurrency: number, worker: Worker) =>
    new WorkQueue({ ...common, name, concurrency, worker, terms });
  const { concurrency } = settings;
  const queues: OperatorQueues = {
    nodes: queue('nodes', concurrency, nodeWorker),
    blocks: queue('blocks', Math.min(16, concurrency), blockWorker),
    pools: queue('pools', 4, poolWorker),
  };

  const { configMap, intervals, rules } = settings;
  const serviceCaches = new ServiceCaches({ ...common, configMap, excluded });
  const loadBalancer = new LoadBalancer({ ...base, events, terms, caches: serviceCaches });
  const takeOver = new TakeOver({
    ...base,
    rules,
    caches: {
      relistBlocks: () => caches.blocks.relist(),
      relistAll: () => relistAll(caches),
    },
    restores,
    settleMs: settings.settleAfterRestoreMs,
    queues,
    reporter,
  });
  const history = new BlockHistoryWriter({
    ...common,
    backlog,
    terms,
    nodeQueue: queues.nodes,
    pace: intervals.history,
  });
  const seen = () => ({
    items: { ...surroundings.items, ...cachedItems(caches), ...serviceCaches.items },
    unread: surroundings.unread,
  });
  const drift = new DriftWatch({
    ...common,
    everyMs: intervals.driftMs,
    evidence: () => driftEvidence(settings, seen(), clock.wallMs(), witness?.seen()),
    used: new UsedAddresses({ client, clock, leastMs: intervals.podsMs }),
    nodeCache: caches.nodes,
    terms,
    nodeQueue: queues.nodes,
    reporter,
  });

  const router = new ChangeRouter({
    register,
    queues,
    reporter,
    projector,
    excluded,
    loadBalancer,
  });
  cacheEvents.add(router.handlers);
  cacheEvents.add(backlog.handlers);
  cacheEvents.add(onEveryChange(() => drift.changed()));
  witness?.onChange(() => drift.changed());
  return new Operator({
    settings,
    clock,
    log,
    register,
    caches,
    serviceCaches,
    terms,
    definitions,
    attribution,
    cilium,
    excluded,
    events,
    queues,
    takeOver,
    restores,
    loadBalancer,
    history,
    drift,
    settingsReporter: new SettingsReporter({ client, log, settings, terms }),
    router,
    reporters: [reporter, drift, poolWorker, loadBalancer],
  });
}
