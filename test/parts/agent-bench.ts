/** An agent on a bench: the embedded API server, a kernel in memory, and a speaker that records what is declared. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressBook } from '../../src/agent/address-book.ts';
import type { AgentSettings } from '../../src/agent/agent-settings.ts';
import type { SpeakerDriver } from '../../src/agent/agent-world.ts';
import { type AssembledAgent, assembleAgent } from '../../src/agent/assemble-agent.ts';
import type { BootClock } from '../../src/base/boot-clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import { realFiles } from '../../src/base/journal/durable-files.ts';
import type { Log } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import type { Announcement } from '../../src/bgp/rib/announcement.ts';
import type { PeerView } from '../../src/bgp/speaker/speaker-peer.ts';
import { FakeNamespace } from '../../src/kernel/fake/fake-namespace.ts';
import { FakeKernel } from '../../src/kernel/fake-kernel.ts';
import type { RouteSpec } from '../../src/kernel/route.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { crds } from '../../src/model/crds.ts';
import { blockName } from '../../src/model/node-block.ts';
import type { Condition, KubeObject } from '../../src/model/object.ts';
import { parseAddress } from '../../src/net/address.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import type { Asked } from './fault-proxy.ts';
import { TestApi } from './test-api.ts';

const group = '/apis/cadastre.dev/v1alpha1';

/** Writes down every declaration, in the order in which kernel and routers hear of it. */
class WatchedKernel extends FakeKernel {
  readonly #steps: string[];
  /** So many times it takes no routes. */
  failures = 0;
  /** What happens while the interfaces are read. */
  meanwhile: (() => Promise<unknown>) | undefined;

  constructor(namespace: FakeNamespace, steps: string[]) {
    super(new Map(), namespace);
    this.#steps = steps;
  }

  override async links() {
    await this.meanwhile?.();
    return super.links();
  }

  override async setRoutes(all: readonly RouteSpec[], protocol?: number) {
    if (this.failures-- > 0) throw new Error('the kernel is busy');
    this.#steps.push(`kernel ${all.map(({ prefix }) => prefix).join(' ')}`);
    return super.setRoutes(all, protocol);
  }
}

export class AgentBench {
  readonly api: TestApi;
  readonly folder: string;
  readonly namespace = new FakeNamespace();
  readonly steps: string[] = [];
  readonly kernel: WatchedKernel;
  readonly metrics = new Metrics();
  announced: readonly Announcement[] = [];
  /** Another one is another boot of the machine. */
  boot: BootClock | undefined;
  /** Sessions that are established; what is declared counts as sent. */
  sessions: Array<{ peer: string; families: string[] }> = [];
  /** `warn 10.5.113.0/24 is not announced: …` */
  readonly logged: string[] = [];
  readonly reports: Array<Record<string, unknown>> = [];
  /** As written to the Node: `CadastreAgentReady False WaitingForBlocks`. */
  readonly conditions: string[] = [];
  agent!: AssembledAgent;
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  #client: KubeClient | undefined;

  readonly #machine: string;

  private constructor(api: TestApi, machine = 'aaaa', address = '10.4.94.32') {
    this.api = api;
    this.#machine = machine;
    this.folder = mkdtempSync(join(tmpdir(), 'cad-agent-'));
    const eth0 = this.namespace.addLink({
      name: 'eth0',
      kind: '',
      mac: '02:00:00:00:00:01',
      mtu: 1500,
    });
    eth0.addresses.push({ address: parseAddress(address)!, length: 24 });
    this.namespace.setUp(eth0, true);
    this.kernel = new WatchedKernel(this.namespace, this.steps);
    api.intercept ??= (asked) => this.#note(asked);
  }

  static async make(): Promise<AgentBench> {
    return new AgentBench(await TestApi.start(crds));
  }

  /** Another machine, at the same API server; to be stopped before the first one ends. */
  beside(machine: string, address: string): AgentBench {
    return new AgentBench(this.api, machine, address);
  }

  async start(change: Partial<AgentSettings> = {}): Promise<void> {
    this.#stop = new AbortController();
    this.#client = new KubeClient(this.api.access(), {});
    this.agent = await assembleAgent(
      {
        client: this.#client,
        kernel: this.kernel,
        machine: this.#machine,
        openSpeaker: () => this.#speaker(),
        hasRestarted: () => false,
        files: realFiles,
        clock: systemClock,
        ...(this.boot === undefined ? {} : { boot: this.boot }),
        random: () => 0.5,
        log: this.#log(),
        metrics: this.metrics,
      },
      {
        nodeName: 'n1',
        version: 'test',
        rules: { source: 'register', families: 'auto' },
        byDemand: false,
        preAllocate: 8,
        routing: 'native',
        directRoutes: true,
        reserved: [],
        configMap: undefined,
        filePeers: [],
        filePools: [],
        stateFolder: this.folder,
        socketPath: join(this.folder, 'agent.sock'),
        bgpListen: false,
        restMs: 0,
        apiGraceMs: 50,
        reportEveryMs: 10,
        drainGraceMs: 100,
        ...change,
      },
    );
    this.#running = this.agent.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.agent?.close();
    await this.#client?.close();
  }

  async end(): Promise<void> {
    await this.stop();
    await this.api.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get book(): AddressBook {
    return this.agent.addresses!.book;
  }

  /** The uid of the Node. */
  putNode(name: string, address: string, more: KubeObject = {}): string {
    const status = { addresses: [{ type: 'InternalIP', address }] };
    return this.api.put(`/api/v1/nodes/${name}`, { status, ...more }).metadata.uid;
  }

  deleteNode(name: string): void {
    this.api.delete(`/api/v1/nodes/${name}`);
  }

  /** As an API server that cannot be reached. */
  cutOff(): void {
    this.api.intercept = (_, response) => {
      response.destroy();
      return true;
    };
  }

  heal(): void {
    this.api.intercept = (asked) => this.#note(asked);
  }

  putBlock(cidr: string, name: string, uid: string, phase = 'Active', more: object = {}): string {
    const since = phase === 'Cooling' ? { coolingSince: '2026-01-01T00:00:00Z' } : {};
    const spec = { cidr, pool: 'p', node: { name, uid }, phase, ...since, ...more };
    return this.api.put(this.#blockPath(cidr), { spec }).metadata.uid;
  }

  deleteBlock(cidr: string): void {
    this.api.delete(this.#blockPath(cidr));
  }

  /** Of the node's own protocol, as text: `unreachable 10.5.113.0/24`. */
  routes(): string[] {
    return [...this.namespace.routes.values()]
      .map(({ type, prefix, via }) =>
        [type === 'unicast' ? '' : `${type} `, prefix, via ? ` via ${via}` : ''].join(''),
      )
      .sort();
  }

  prefixes(): string[] {
    return this.announced.map(({ prefix }) => prefix);
  }

  /** The prefixes for which routers are asked to prefer every other path. */
  lastResorts(): string[] {
    const isLastResort = ({ communities = [] }: Announcement) =>
      communities.includes('graceful-shutdown');
    return this.announced.filter(isLastResort).map(({ prefix }) => prefix);
  }

  /** Whose end is the end of the report: `Node n1`. */
  reportOwners(): string[] {
    const { ownerReferences } = this.api.object(`${group}/nodereports/n1`)?.metadata ?? {};
    const owners = (ownerReferences ?? []) as Array<{ kind: string; name: string }>;
    return owners.map(({ kind, name }) => `${kind} ${name}`);
  }

  /** What the operator reads. */
  report(): Record<string, unknown> | undefined {
    return this.api.object(`${group}/nodereports/n1`)?.spec as Record<string, unknown> | undefined;
  }

  #blockPath(cidr: string): string {
    return `${group}/nodeblocks/${blockName(parsePrefix(cidr)!)}`;
  }

  #note({ method, path, body }: Asked): boolean {
    if (method !== 'PATCH' || !path.endsWith('/status')) return false;
    const status = body?.status as Record<string, unknown> & { conditions?: Condition[] };
    const isThere = this.api.object(path.slice(0, -'/status'.length)) !== undefined;
    if (path.includes('/nodereports/') && isThere) this.reports.push(status);
    for (const one of path.includes('/nodes/') ? (status.conditions ?? []) : []) {
      this.conditions.push(`${one.type} ${one.status} ${one.reason}`);
    }
    return false;
  }

  #log(): Log {
    const at = (level: string) => (_: object, message: string) => {
      this.logged.push(`${level} ${message}`);
    };
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  #speaker(): SpeakerDriver {
    this.announced = [];
    return {
      listen: async () => undefined,
      setPeers: () => [],
      set: (all) => {
        this.announced = all;
        this.steps.push(`routers ${all.map(({ prefix }) => prefix).join(' ')}`);
        return [];
      },
      peers: () => this.sessions.map(establishedView),
      announcedTo: () =>
        this.announced.map(({ prefix }) => ({ prefix, nextHop: '10.4.94.32', attributes: {} })),
      close: async () => undefined,
    };
  }
}

function establishedView({ peer, families }: { peer: string; families: string[] }): PeerView {
  return {
    name: peer,
    address: '10.4.94.1',
    asn: 64524,
    localAsn: 64513,
    state: 'Established',
    uptimeSeconds: 1,
    lastError: undefined,
    families,
    holdSeconds: 90,
    counters: undefined,
    announced: 0,
    isInSync: true,
    isDelivered: true,
    unencodable: {},
  };
}
