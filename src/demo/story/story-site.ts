/**
 * One of the two sites of the story: an API server, the operator, four agents on kernels
 * in memory, two routers, BGP between them. At the site as it was the agents have no peers,
 * and a speaker beside each announces Node.spec. Nothing here is kept: a site is made anew
 * at every reset.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiServer, startApiServer } from '../../apiserver/apiserver.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { ClusterFeed } from '../../console/cluster-feed.ts';
import { Examiner } from '../../console/examiner.ts';
import { followedSource } from '../../console/feed-source.ts';
import { tablesOf } from '../../console/router-view.ts';
import type { FindingRow } from '../../console/rows.ts';
import { ConsoleState } from '../../console/state.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadKubeConfig } from '../../kube/kubeconfig.ts';
import { type Evidence, evidenceOf } from '../../plan/doctor/evidence.ts';
import { Cabling } from '../cabling.ts';
import { Demo } from '../demo.ts';
import { demoMode } from '../site-plan.ts';
import type { IncidentSite } from './incident-site.ts';
import { NodeSpecSpeakers } from './node-spec-speakers.ts';
import { OnePodEach } from './one-pod-each.ts';
import type { Side, SiteReading } from './site-reading.ts';

interface StorySiteOptions {
  side: Side;
  incident: IncidentSite;
  /** Emptied first. */
  dataDir: string;
  clock: Clock;
  log: Log;
  version: string;
}

export class StorySite {
  readonly side: Side;
  readonly #o: StorySiteOptions;
  readonly #cabling = new Cabling();
  readonly #speakers: NodeSpecSpeakers | undefined;
  readonly #stopping = new AbortController();
  #api: ApiServer | undefined;
  #client: KubeClient | undefined;
  #demo: Demo | undefined;
  #feed: ClusterFeed | undefined;
  #state: ConsoleState | undefined;
  #examiner: Examiner | undefined;
  #speaking: Promise<void> = Promise.resolve();

  constructor(options: StorySiteOptions) {
    this.#o = options;
    this.side = options.side;
    const { log, incident } = options;
    if (options.side === 'left') {
      const { routers } = incident.site;
      this.#speakers = new NodeSpecSpeakers({ routers, cabling: this.#cabling, log });
    }
  }

  async start(): Promise<void> {
    const { dataDir, clock, log, version, incident, side } = this.#o;
    await rm(dataDir, { recursive: true, force: true });
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const api = await startApiServer({ dataDir: join(dataDir, 'api'), log, waitsForDisk: false });
    this.#api = api;
    const access = await loadKubeConfig({ kubeconfig: api.kubeconfigPath });
    const client = new KubeClient(access, { connections: 8, log });
    this.#client = client;
    const { site, secondAllocation } = incident;
    const demo = new Demo({
      dataDir,
      client,
      site: side === 'left' ? { ...site, peers: [] } : site,
      clock,
      random: Math.random,
      log,
      version,
      cabling: this.#cabling,
      secondAllocation,
      podLife: (places) => new OnePodEach(places, log),
    });
    this.#demo = demo;
    const state = new ConsoleState({ epoch: side });
    const stated = { mode: demoMode.name };
    const source = followedSource({ client, stated, clock, log });
    const feed = new ClusterFeed({ source, state, stated, clock, log });
    feed.onChange((isNews) => {
      this.#speak();
      if (isNews) this.#examiner?.touch();
    });
    demo.onChange(() => this.#examiner?.touch());
    this.#state = state;
    this.#feed = feed;
    await demo.start();
    feed.start(this.#stopping.signal);
  }

  async switchAllocator(): Promise<void> {
    await this.#demo?.setSecondAllocator(true);
  }

  async drain(node: string): Promise<void> {
    await this.#demo?.drainNode(node);
  }

  async remove(node: string): Promise<void> {
    await this.#demo?.removeNode(node);
  }

  /** Every speaker of the site as it was, from anew. */
  async restartSpeakers(): Promise<void> {
    this.#speaking = this.#speaking.then(() => this.#speakers?.close());
    await this.#speaking;
    this.#speak();
  }

  /** What its parts hold now. */
  async read(): Promise<SiteReading> {
    const cluster = this.#feed?.clusterState();
    const { incident, side } = this.#o;
    return {
      side,
      incident,
      nodes: cluster?.nodes ?? [],
      blocks: cluster?.blocks ?? [],
      routers: this.#demo?.routers() ?? [],
      kernels: (await this.#demo?.kernels()) ?? new Map(),
    };
  }

  /** Before anything of it was read. */
  unread(): SiteReading {
    const { incident, side } = this.#o;
    const routers = incident.site.routers.map(({ name, address, asn }) => ({
      ...{ name, addresses: [address], asn, isUp: false, sessions: [], held: [] },
    }));
    const nodes: SiteReading['nodes'] = [];
    return { side, incident, nodes, blocks: [], routers, kernels: new Map() };
  }

  /** From now on its sources are compared, as the console does it: all sessions are up. */
  startComparing(): void {
    const { clock, log } = this.#o;
    const [feed, state] = [this.#feed, this.#state];
    if (feed === undefined || state === undefined) return;
    const evidence = () => this.#evidence(feed);
    const notReady = () => feed.notReady() ?? this.#demo?.notReady();
    this.#examiner = new Examiner({ evidence, notReady, state, clock, log });
    this.#examiner.touch();
  }

  /** What the console would say of it. */
  findings(): FindingRow[] {
    return this.#state?.all('finding') ?? [];
  }

  /** Whose pods would lose the network; null: it cannot be said. */
  wouldLose(node: string): string[] | null {
    const answer = this.#examiner?.ask({ kind: 'drain', nodes: [node] });
    if (answer?.kind !== 'answer') return null;
    return [...new Set(answer.whatIf.loses.map((loss) => loss.node))];
  }

  #evidence(feed: ClusterFeed): Evidence {
    return evidenceOf(feed.clusterState(), {
      isPodListApart: true,
      nowMs: this.#o.clock.wallMs(),
      routers: tablesOf(this.#demo?.routers() ?? []),
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#feed?.stop();
    this.#examiner?.stop();
    this.#state?.close();
    await this.#speaking;
    await this.#speakers?.close();
    await this.#demo?.stop();
    await this.#client?.close();
    await this.#api?.stop();
    await rm(this.#o.dataDir, { recursive: true, force: true });
  }

  /** One declaration at a time: a speaker that leaves waits for its routers. */
  #speak(): void {
    const { log } = this.#o;
    this.#speaking = this.#speaking.then(async () => {
      if (this.#stopping.signal.aborted) return;
      await this.#speakers?.set(this.#feed?.clusterState().nodes ?? []).catch((error) => {
        log.error({ error: String(error) }, 'what Node.spec says could not be announced');
      });
    });
  }
}
