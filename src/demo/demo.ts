/**
 * The room's essay. `demo` simulates a whole site around one API server:
 * the operator, an agent for every Node, routers, pods that come and go, and a
 * few faults on a switch. Every part but the kernel and the kubelet is the real
 * one; BGP is spoken over TCP on loopback. It needs no root.
 *
 *   site-plan       which nodes, racks, pools and routers there are at first
 *   site-seed       creates their objects
 *   cabling         site addresses ─▶ loopback sockets
 *   demo-node       the real agent on a kernel in memory
 *   demo-router     the collector, which can be stopped and started again
 *   pod-life        pods that come and go
 *   second-allocator   the fault that everything here is about
 *   shared-caches   one watch for all agents
 *
 * Nothing but the API server says what there is: a node is simulated exactly as long as
 * its Node exists, whoever created or deleted it. So `kubectl delete node` does
 * what one expects, and a restart finds everything as it was.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { clusterCache } from '../cluster/cluster-caches.ts';
import type { RouterView } from '../console/router-view.ts';
import type { KernelRoute } from '../kernel/route.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import { nodeObject } from '../lab/cluster/objects.ts';
import { drainAnnotation } from '../model/keys.ts';
import type { ClusterNode } from '../model/node.ts';
import type { ClusterPod } from '../model/pod.ts';
import { ipPools, nodes } from '../model/resources.ts';
import { assembleOperator } from '../operator/assemble-operator.ts';
import type { Operator } from '../operator/operator.ts';
import { operatorSettings } from '../operator/operator-settings.ts';
import type { RouterWitness } from '../witness/witness.ts';
import { Cabling } from './cabling.ts';
import { type DemoMemory, freshMemory, readDemoMemory, writeDemoMemory } from './demo-file.ts';
import { DemoNode } from './demo-node.ts';
import { paceOf } from './demo-pace.ts';
import { DemoRouter } from './demo-router.ts';
import { PodLife, type PodPlaces } from './pod-life.ts';
import { SecondAllocator } from './second-allocator.ts';
import { SharedCaches } from './shared-caches.ts';
import { blockOfSite, demoMode, poolOfNode, type Site, siteNode } from './site-plan.ts';
import { SiteSeed } from './site-seed.ts';

interface DemoOptions {
  dataDir: string;
  client: KubeClient;
  /** What is created at the first start. */
  site: Site;
  /** How many nodes there are at least; undefined: those of the site, later whatever there is. */
  nodes?: number | undefined;
  clock: Clock;
  random: () => number;
  log: Log;
  version: string;
  /** Between two pods that come or go. */
  podEveryMs?: number;
  /** Which pods there are, instead of those that come and go. */
  podLife?: (nodes: PodPlaces) => { run(signal: AbortSignal): Promise<void> };
  /** What the second allocator gives to which node, where that is a matter of record. */
  secondAllocation?: Readonly<Record<string, string>>;
  /** For others that speak with the routers of the site. */
  cabling?: Cabling;
  /** Called with a line of progress at the start. */
  onProgress?: (words: string) => void;
}

/** Asked for a node or router that does not exist. */
export class NoSuchMachine extends Error {}

/** Agents that start at the same time. */
const startAtOnce = 16;

/**
 * The shipped operator, as the only replica: nobody waits to take over, and a busy
 * laptop should not cost the leadership. The data folder is locked, so a lease that
 * is found there is an earlier run's, and the identity is the same. Its API server knows one
 * user, so no report can be attributed.
 */
const settings = operatorSettings(demoMode, 'cadastre-up', {
  lease: {
    timings: { leaseDurationSeconds: 60, renewDeadlineSeconds: 45, retryPeriodSeconds: 5 },
  },
  believeReports: 'all',
  concurrency: 16,
});

export class Demo {
  readonly #o: DemoOptions;
  readonly #stopping = new AbortController();
  readonly #cabling: Cabling;
  readonly #metrics = new Metrics();
  readonly #operator: Operator;
  readonly #nodeCache: ListWatch<ClusterNode>;
  readonly #shared: SharedCaches;
  readonly #seeder: SiteSeed;
  readonly #routers: DemoRouter[];
  readonly #nodes = new Map<string, DemoNode>();
  readonly #listeners = new Set<() => void>();
  #memory = freshMemory;
  /** Before that no agent starts: each would look at every node that is created. */
  #isSeeded = false;
  #allocating: AbortController | undefined;
  #running: Promise<unknown>[] = [];
  #settling: Promise<void> = Promise.resolve();

  constructor(options: DemoOptions) {
    this.#o = options;
    this.#cabling = options.cabling ?? new Cabling();
    const { site } = options;
    const { client, clock, log } = options;
    const onChange = () => this.#notify();
    this.#routers = site.routers.map(
      (router, index) =>
        new DemoRouter({
          router,
          host: `127.78.0.${index + 1}`,
          cabling: this.#cabling,
          clock,
          log,
          onChange,
        }),
    );
    const { metrics, witness } = { metrics: this.#metrics, witness: this.#witness() };
    this.#operator = assembleOperator({ client, settings, log, metrics, witness });
    const signal = this.#stopping.signal;
    this.#shared = new SharedCaches({ client, clock, log, signal });
    this.#nodeCache = clusterCache('nodes', options, {
      handler: { onPut: () => this.#settle(), onDelete: () => this.#settle() },
    });
    const { onProgress } = options;
    this.#seeder = new SiteSeed({ client, clock, signal, nodeCache: this.#nodeCache, onProgress });
  }

  /** Nodes that exist. */
  get nodeCount(): number {
    return this.#nodeCache.size;
  }

  get metrics(): Metrics {
    return this.#metrics;
  }

  /** What is not ready yet, if anything. */
  notReady(): string | undefined {
    if (!this.#operator.isSynced) return 'the operator has not synced its caches yet';
    if (!this.#operator.isLeader) return 'the operator has not got the lease yet';
    const wanted = this.#nodeCache.size;
    const ready = [...this.#nodes.values()].filter((node) => node.isReady).length;
    if (wanted === 0 && !this.#memory.isSeeded) return 'there are no nodes yet';
    return ready >= wanted ? undefined : `${ready} of ${wanted} nodes are ready`;
  }

  routers(): RouterView[] {
    return this.#routers.map((router) => router.view());
  }

  /** By node: the routes that its kernel holds, those to its pods too. */
  async kernels(): Promise<Map<string, KernelRoute[]>> {
    const all = [...this.#nodes.values()];
    const held = await Promise.all(all.map((node) => node.routes()));
    return new Map(all.map(({ name }, index) => [name, held[index] ?? []]));
  }

  /** Nobody tells the API server of simulated pods: it would have to keep thousands. */
  async pods(): Promise<ClusterPod[]> {
    return (await Promise.all([...this.#nodes.values()].map((node) => node.listPods()))).flat();
  }

  /** Operator and console of the site see the same routers. */
  #witness(): RouterWitness {
    const heard = () => this.#routers.flatMap((router) => router.heard() ?? []);
    return {
      get routers() {
        return heard();
      },
      seen: () => this.#routers.map((router) => router.seen()),
      onChange: (heed) => {
        this.onChange(heed);
      },
    };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get tryIt(): { routersDown: string[]; secondAllocator: boolean } {
    const { routersDown, secondAllocator } = this.#memory;
    return { routersDown, secondAllocator };
  }

  /** The name of the new node. */
  async addNode(): Promise<string> {
    for (let index = 0; ; index++) {
      const node = siteNode(index);
      if (this.#nodeCache.get(node.name) !== undefined) continue;
      await this.#seeder.ensure(ipPools, poolOfNode(index));
      const made = await this.#seeder.ensure(nodes, nodeObject(node));
      if (made === undefined) continue;
      this.#nodeCache.put(made);
      return node.name;
    }
  }

  /** Its routes are withdrawn and its pods removed; `undo` takes it back into service. */
  async drainNode(name: string, undo = false): Promise<void> {
    this.#existing(name);
    const body = { metadata: { annotations: { [drainAnnotation]: undo ? null : 'true' } } };
    await this.#o.client.patch(nodes, name, { type: 'merge', body });
  }

  /** Its Node is deleted, as node1's was. */
  async removeNode(name: string): Promise<void> {
    const { uid } = this.#existing(name);
    await this.#o.client.delete(nodes, name, { uid });
  }

  async killRouter(name: string): Promise<void> {
    await this.#router(name).stop();
    await this.#remember({ routersDown: [...new Set([...this.#memory.routersDown, name])] });
  }

  async reviveRouter(name: string): Promise<void> {
    await this.#router(name).start();
    await this.#remember({ routersDown: this.#memory.routersDown.filter((one) => one !== name) });
  }

  async setSecondAllocator(isOn: boolean): Promise<void> {
    await this.#remember({ secondAllocator: isOn });
    this.#switchAllocator(isOn);
    if (!isOn) await this.#recreateNodes();
  }

  async stop(): Promise<void> {
    this.#allocating?.abort();
    this.#stopping.abort();
    await this.#settling;
    await Promise.all([...this.#nodes.values()].map((node) => node.stop('restart')));
    this.#nodes.clear();
    await Promise.all(this.#routers.map((router) => router.stop()));
    await Promise.all(this.#running);
  }

  /** Returns once everything is started; `notReady` says what is not serving yet. */
  async start(): Promise<void> {
    const { dataDir, log, random, podEveryMs = 2_000 } = this.#o;
    const { signal } = this.#stopping;
    this.#memory = await readDemoMemory(dataDir);
    for (const router of this.#routers) {
      await router.start();
      if (this.#memory.routersDown.includes(router.name)) await router.stop();
    }
    this.#running.push(
      this.#operator.run(signal).catch((error) => {
        log.error({ error: describeError(error) }, 'the operator failed');
      }),
    );
    this.#nodeCache.start(signal);
    await this.#nodeCache.synced;
    await this.#seed();
    this.#settle();
    if (this.#memory.secondAllocator) this.#switchAllocator(true);
    const places: PodPlaces = {
      nodes: () => this.#nodesThat((node) => node.isLeaving !== true),
      leaving: () => this.#nodesThat((node) => node.isLeaving === true),
    };
    const podLife =
      this.#o.podLife?.(places) ?? new PodLife({ ...places, random, log, everyMs: podEveryMs });
    this.#running.push(podLife.run(signal));
  }

  async #seed(): Promise<void> {
    const { nodes: wanted, site } = this.#o;
    const isFirst = !this.#memory.isSeeded;
    await this.#seeder.seed({ site, wanted, isFirst });
    if (isFirst) await this.#remember({ isSeeded: true });
    this.#isSeeded = true;
  }

  /** Agents for the Nodes that exist, and for no others; one settling at a time. */
  #settle(): void {
    this.#settling = this.#settling.then(async () => {
      if (this.#stopping.signal.aborted || !this.#isSeeded) return;
      try {
        await this.#settleNow();
      } catch (error) {
        this.#o.log.error(
          { error: describeError(error) },
          'the agent of a node could not be started or stopped',
        );
      }
    });
  }

  async #settleNow(): Promise<void> {
    for (const [name, node] of this.#nodes) {
      if (this.#nodeCache.get(name) !== undefined) continue;
      this.#nodes.delete(name);
      await node.stop('drain');
      this.#cabling.unplugNode(name);
      await rm(this.#stateDir(name), { recursive: true, force: true });
    }
    const fresh = [...this.#nodeCache.values()].filter(
      ({ name, addresses }) => !this.#nodes.has(name) && addresses.length > 0,
    );
    for (let at = 0; at < fresh.length; at += startAtOnce) {
      if (this.#stopping.signal.aborted) return;
      await Promise.all(fresh.slice(at, at + startAtOnce).map((node) => this.#startNode(node)));
    }
  }

  async #startNode({ name, addresses }: ClusterNode): Promise<void> {
    const { client, clock, random, log, version } = this.#o;
    const node = await DemoNode.start({
      name,
      addresses,
      stateDir: this.#stateDir(name),
      client,
      follow: this.#shared.follow,
      cabling: this.#cabling,
      clock,
      log,
      version,
      drainGraceMs: 1_000,
      pace: paceOf(this.#nodeCache.size, random),
      sweepEveryMs: 10_000 * Math.max(1, this.#nodeCache.size / 20),
    });
    this.#nodes.set(name, node);
  }

  #stateDir(name: string): string {
    return join(this.#o.dataDir, 'nodes', name);
  }

  /** The only way to clear a wrong spec.podCIDRs: the field can be set once and never changed. */
  async #recreateNodes(): Promise<void> {
    const { client } = this.#o;
    for (const { name, uid, podCidrs, labels, addresses } of [...this.#nodeCache.values()]) {
      if (podCidrs.length === 0 || this.#stopping.signal.aborted) continue;
      await client.delete(nodes, name, { uid });
      await this.#seeder.ensure(nodes, nodeObject({ name, addresses, labels }));
    }
  }

  #switchAllocator(isOn: boolean): void {
    this.#allocating?.abort();
    this.#allocating = undefined;
    if (!isOn) return;
    const { client, log } = this.#o;
    const allocator = new SecondAllocator({
      client,
      nodes: () => this.#nodeCache.values(),
      block: blockOfSite,
      chosen: this.#o.secondAllocation,
      log,
    });
    this.#allocating = new AbortController();
    this.#running.push(
      allocator.run(AbortSignal.any([this.#allocating.signal, this.#stopping.signal])),
    );
  }

  async #remember(change: Partial<DemoMemory>): Promise<void> {
    this.#memory = { ...this.#memory, ...change };
    await writeDemoMemory(this.#o.dataDir, this.#memory);
    this.#notify();
  }

  #nodesThat(isSo: (node: ClusterNode) => boolean): DemoNode[] {
    return [...this.#nodes.values()].filter(({ name }) => {
      const node = this.#nodeCache.get(name);
      return node !== undefined && isSo(node);
    });
  }

  #existing(name: string): ClusterNode {
    const node = this.#nodeCache.get(name);
    if (node === undefined) throw new NoSuchMachine(`there is no node called ${name}`);
    return node;
  }

  #router(name: string): DemoRouter {
    const router = this.#routers.find((one) => one.name === name);
    if (router === undefined) throw new NoSuchMachine(`there is no router called ${name}`);
    return router;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
