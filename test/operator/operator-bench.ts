/**
 * The operator on the embedded API server, all in this process: a server takes
 * ten milliseconds to start, so every test has its own. The test's own client
 * goes past all code under test, and the server itself counts what is written.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import type { Clock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { fixedCredential, type KubeAccess } from '../../src/kube/access.ts';
import { ApiError } from '../../src/kube/api-error.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { crdResource, ensureCrds } from '../../src/kube/crds.ts';
import type { Resource } from '../../src/kube/resource.ts';
import { ciliumNodeCrd } from '../../src/lab/cluster/objects.ts';
import { crds } from '../../src/model/crds.ts';
import { apiVersion } from '../../src/model/keys.ts';
import { modeOfFlag } from '../../src/model/modes.ts';
import {
  ciliumNodes,
  ipPools,
  nodeBlocks,
  nodeReports,
  nodes,
  services,
} from '../../src/model/resources.ts';
import { assembleOperator } from '../../src/operator/assemble-operator.ts';
import type { Operator } from '../../src/operator/operator.ts';
import {
  type OperatorChoices,
  type OperatorSettings,
  operatorSettings,
} from '../../src/operator/operator-settings.ts';
import type { RouterWitness } from '../../src/witness/witness.ts';
import { type FaultProxy, type FaultProxyOptions, startFaultProxy } from '../parts/fault-proxy.ts';
import { type NewNode, nodeBody } from '../world/cluster.ts';
import { eventually as ask } from '../world/eventually.ts';
import type {
  BlockObject,
  CiliumNodeObject,
  EventObject,
  NodeObject,
  PoolObject,
  PoolSpec,
} from '../world/objects.ts';

export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  ask(check, { withinMs: 60_000, everyMs: 10 });

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** One write of an operator as the API server saw it: `create nodeblocks 10-0-0-0-24`. */
export interface Write {
  by: string;
  verb: string;
  resource: string;
  name: string;
  code: number;
}

/** One replica. */
export class BenchOperator {
  readonly identity: string;
  readonly operator: Operator;
  readonly metrics: Metrics;
  readonly lines: LogLine[];
  readonly #client: KubeClient;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(access: KubeAccess, settings: OperatorSettings, world: BenchWorld = {}) {
    const { identity } = settings.lease;
    this.identity = identity;
    this.metrics = new Metrics();
    this.lines = [];
    const log = collectingLog(this.lines);
    this.#client = new KubeClient(access, { userAgent: identity, metrics: this.metrics, log });
    this.operator = assembleOperator({
      client: this.#client,
      settings,
      log,
      metrics: this.metrics,
      ...world,
    });
    this.#ended = this.operator.run(this.#stopping.signal);
  }

  logged(isIt: (line: LogLine) => boolean): LogLine[] {
    return this.lines.filter(isIt);
  }

  /** CIDRs of blocks that it decided about, by reason, in the order of its log. */
  decided(reason: string): string[] {
    return this.logged((line) => line.reason === reason).map(({ block }) => String(block));
  }

  /** It has the lease, has adopted everything, and assigns. */
  async whenAllocating(): Promise<this> {
    await eventually(() => {
      if (!this.lines.some(({ msg }) => msg === 'this replica leads and allocates')) {
        throw new Error(`${this.identity} does not allocate:\n${this.tail()}`);
      }
    });
    return this;
  }

  metric(name: string, labels: Record<string, string> = {}): number {
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    let sum = 0;
    for (const line of this.metrics.text().split('\n')) {
      const match = /^(\w+)(\{.*\})? (\S+)$/.exec(line);
      if (match?.[1] !== name || !wanted.every((pair) => match[2]?.includes(pair))) continue;
      sum += Number(match[3]);
    }
    return sum;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
    await this.#client.close();
  }

  /** As kill -9 would: nothing of it reaches the API server any more, not even the lease's release. */
  async crash(): Promise<void> {
    await this.#client.close();
    await this.stop();
  }

  tail(): string {
    return this.lines
      .slice(-20)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }
}

export class OperatorBench {
  readonly client: KubeClient;
  /** By operators, in the order of their answers. */
  readonly writes: Write[] = [];
  /** Called for each, at the moment of its answer. */
  onWrite: ((write: Write) => void) | undefined;
  #api: ApiServer;
  readonly #startServer: (port?: number) => Promise<ApiServer>;
  readonly #dir: string;
  readonly #operators: BenchOperator[] = [];
  readonly #proxies: FaultProxy[] = [];

  private constructor(
    api: ApiServer,
    dir: string,
    startServer: (port?: number) => Promise<ApiServer>,
  ) {
    this.#api = api;
    this.#startServer = startServer;
    this.#dir = dir;
    this.client = new KubeClient(this.access(), { userAgent: 'the-test' });
  }

  /** With Cadastre's resources registered; Cilium's only if the test says so. */
  static async start(): Promise<OperatorBench> {
    const dir = mkdtempSync(join(tmpdir(), 'cadastre-bench-'));
    const heard: Array<(write: Write) => void> = [];
    const startServer = (port?: number) =>
      startApiServer({
        dataDir: join(dir, 'data'),
        port,
        waitsForDisk: false,
        onAnswer: ({ method, path, userAgent, code, name }) => {
          if (method === 'GET' || !userAgent.startsWith('operator')) return;
          const write = { by: userAgent, code, ...partsOf(method, path, name) };
          for (const hear of heard) hear(write);
        },
      });
    const bench = new OperatorBench(await startServer(), dir, startServer);
    heard.push((write) => {
      bench.writes.push(write);
      bench.onWrite?.(write);
    });
    await ensureCrds(bench.client, crds, silentLog);
    return bench;
  }

  async end(): Promise<void> {
    await Promise.all(this.#operators.map((operator) => operator.stop()));
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
    await this.client.close();
    await this.#api.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** What `restore` is given later. The server is down for a moment. */
  async backUp(): Promise<string> {
    const backup = mkdtempSync(join(this.#dir, 'backup-'));
    await this.#replaceServer(() => {
      cpSync(join(this.#dir, 'data'), backup, { recursive: true });
    });
    return backup;
  }

  /** As an etcd restored from the backup: what came later never was. */
  restore(backup: string): Promise<void> {
    return this.#replaceServer(() => {
      rmSync(join(this.#dir, 'data'), { recursive: true });
      cpSync(backup, join(this.#dir, 'data'), { recursive: true });
    });
  }

  async #replaceServer(whileDown: () => void): Promise<void> {
    const { port } = this.#api;
    await this.#api.stop();
    whileDown();
    this.#api = await this.#startServer(port);
  }

  /** A replica under way; `through` a proxy it lives with whatever that does. */
  operator(chosen: Choices = {}, through?: FaultProxy): BenchOperator {
    const identity = `operator-${this.#operators.length + 1}`;
    const { mode = 'ip-pool', clock, witness, ...others } = chosen;
    const settings = operatorSettings(modeOfFlag(mode), identity, {
      concurrency: 16,
      // Reports are the test's own.
      believeReports: 'all',
      ...others,
      intervals: { ...hurried, ...others.intervals },
    });
    const operator = new BenchOperator(this.access(through), settings, {
      ...(clock === undefined ? {} : { clock }),
      ...(witness === undefined ? {} : { witness }),
    });
    this.#operators.push(operator);
    return operator;
  }

  leader(chosen: Choices = {}, through?: FaultProxy): Promise<BenchOperator> {
    return this.operator(chosen, through).whenAllocating();
  }

  async proxy(options: Partial<FaultProxyOptions> = {}): Promise<FaultProxy> {
    const { url, ca, token } = this.#api;
    const proxy = await startFaultProxy({ target: { url, ca, token }, seed: 1, ...options });
    this.#proxies.push(proxy);
    return proxy;
  }

  async list<T>(resource: Resource): Promise<T[]> {
    return (await this.client.list<T>(resource)).items;
  }

  node(name: string): Promise<NodeObject> {
    return this.client.get<NodeObject>(nodes, name);
  }

  pool(name: string): Promise<PoolObject> {
    return this.client.get<PoolObject>(ipPools, name);
  }

  ciliumNodes(): Promise<CiliumNodeObject[]> {
    return this.list<CiliumNodeObject>(ciliumNodes);
  }

  createNode(name: string, node: NewNode = {}): Promise<NodeObject> {
    return this.client.create<NodeObject>(nodes, nodeBody(name, node));
  }

  async createNodes(...names: string[]): Promise<void> {
    for (const name of names) await this.createNode(name);
  }

  async deleteNode(name: string): Promise<void> {
    await this.client.delete(nodes, name);
  }

  /** What an agent says that has withdrawn all blocks of its node and does not use them. */
  async fence(name: string): Promise<void> {
    const { metadata } = await this.node(name);
    const own = (await this.list<BlockObject>(nodeBlocks)).filter(
      ({ spec }) => spec.node?.uid === metadata.uid,
    );
    const fenced = own.map(({ spec, metadata: { uid } }) => ({ cidr: spec.cidr, uid }));
    const spec = { nodeUID: metadata.uid, fenced };
    try {
      await this.createOurs(nodeReports, name, spec);
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      await this.patch(nodeReports, name, { spec });
    }
  }

  /** A node leaves properly: its agent withdraws everything and says so, then the Node goes. */
  async retireNode(name: string): Promise<void> {
    await this.fence(name);
    await this.deleteNode(name);
  }

  patch(resource: Resource, name: string, body: object): Promise<unknown> {
    return this.client.patch(resource, name, { type: 'merge', body });
  }

  createPool(name: string, spec: PoolSpec): Promise<PoolObject> {
    return this.createOurs<PoolObject>(ipPools, name, spec);
  }

  /** An object of one of Cadastre's own kinds. */
  createOurs<T>(resource: Resource, name: string, spec: object): Promise<T> {
    const { kind } = resource;
    return this.client.create<T>(resource, { apiVersion, kind, metadata: { name }, spec });
  }

  async registerCiliumNodes(): Promise<void> {
    await this.client.create(crdResource, ciliumNodeCrd());
    await eventually(() => this.client.list(ciliumNodes));
  }

  createCiliumNode(name: string, podCIDRs: string[]): Promise<CiliumNodeObject> {
    return this.client.create<CiliumNodeObject>(ciliumNodes, {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNode',
      metadata: { name },
      spec: { ipam: { podCIDRs }, health: { ipv4: '10.200.0.9' } },
    });
  }

  /** What Cilium's agents do on nodes when they come up: their CiliumNodes, owned by the Nodes. */
  async startCiliumOn(...names: string[]): Promise<void> {
    for (const name of names) {
      const { metadata } = await this.node(name);
      const owner = { apiVersion: 'v1', kind: 'Node', name, uid: metadata.uid };
      await this.client.create(ciliumNodes, {
        apiVersion: 'cilium.io/v2',
        kind: 'CiliumNode',
        metadata: { name, ownerReferences: [owner] },
        spec: {},
      });
    }
  }

  createService(name: string, spec: object = {}): Promise<unknown> {
    const ports = [{ port: 80 }];
    return this.client.create(
      services,
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name },
        spec: { type: 'LoadBalancer', ports, ...spec },
      },
      { namespace: 'default' },
    );
  }

  /** What an agent would say: which of its blocks it announces to a router. */
  async report(node: string, announced: string[]): Promise<void> {
    const { metadata } = await this.node(node);
    try {
      await this.createOurs(nodeReports, node, { nodeUID: metadata.uid });
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
    }
    const session = { peer: 'tor1', address: '10.4.94.1', asn: 64524, state: 'Established' };
    const routes = announced.map((prefix) => ({ prefix, nextHop: '10.4.94.23' }));
    const body = { status: { sessions: [{ ...session, announced: routes }] } };
    await this.client.patch(nodeReports, node, { type: 'merge', subresource: 'status', body });
  }

  /** What an agent would say: how many addresses it needs, and which blocks it uses. */
  async reportUses(node: string, uses: string[], neededAddresses: object = {}): Promise<void> {
    const { metadata } = await this.node(node);
    const all = await this.list<BlockObject>(nodeBlocks);
    const uidOf = (cidr: string) => all.find(({ spec }) => spec.cidr === cidr)?.metadata.uid;
    const spec = {
      nodeUID: metadata.uid,
      neededAddresses,
      uses: uses.map((cidr) => ({ cidr, uid: uidOf(cidr) ?? 'of a block that is gone' })),
    };
    try {
      await this.createOurs(nodeReports, node, spec);
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      await this.patch(nodeReports, node, { spec });
    }
  }

  /** Every block as `cidr node phase`, in the order of the list; guards without a node. */
  async blocks(): Promise<string[]> {
    return (await this.list<BlockObject>(nodeBlocks)).map(({ spec }) =>
      [spec.cidr, spec.node?.name ?? '', spec.phase].filter((word) => word !== '').join(' '),
    );
  }

  async blocksOf(node: string): Promise<string[]> {
    return (await this.blocks())
      .filter((line) => line.split(' ')[1] === node)
      .map((line) => line.replace(` ${node} `, ' '));
  }

  whenBlocks(expected: string[]): Promise<void> {
    return eventually(async () => {
      const found = (await this.blocks()).sort();
      if (found.join('\n') !== [...expected].sort().join('\n')) {
        throw new Error(`blocks are ${found.join(', ')}\nnot        ${expected.join(', ')}`);
      }
    });
  }

  /** The reason of a condition of the node, once it is this one. */
  whenReason(node: string, reason: string, type = 'CadastreBlocksAssigned'): Promise<string> {
    return eventually(async () => {
      const { status } = await this.node(node);
      const condition = status?.conditions?.find((one) => one.type === type);
      if (condition?.reason === reason) return condition.message;
      throw new Error(`${type} of ${node} is ${condition?.reason}, not ${reason}`);
    });
  }

  async events(name: string): Promise<EventObject[]> {
    const resource = { group: '', version: 'v1', plural: 'events', kind: 'Event' };
    const all = await this.list<EventObject>({ ...resource, namespaced: true });
    return all.filter(({ involvedObject }) => involvedObject.name === name);
  }

  /** Writes about nodes, blocks and pools; leases, Events and the CRDs' registration left out. */
  writesAbout(
    pattern = /^(nodes|nodeblocks|ippools|ciliumnodes|serviceaddresses|services)$/,
  ): string[] {
    return this.writes
      .filter(({ resource }) => pattern.test(resource.split('/')[0] ?? ''))
      .map(({ verb, resource, name, code }) =>
        [verb, resource, name, ...(code < 300 ? [] : [code])].join(' '),
      );
  }

  access(through?: FaultProxy): KubeAccess {
    const { url, ca, token } = this.#api;
    const common = { namespace: 'default', origin: 'the bench' };
    if (through !== undefined) {
      return { ...common, server: through.url, tls: {}, credentials: fixedCredential() };
    }
    const credentials = fixedCredential({ authorization: `Bearer ${token}` });
    return { ...common, server: url, tls: { ca }, credentials };
  }
}

export type Choices = OperatorChoices & BenchWorld & { mode?: string };

/** What is around a replica and not in its settings. */
interface BenchWorld {
  clock?: Clock;
  witness?: RouterWitness;
}

/** A machine whose clock is wrong by so much. */
export const clockAhead = (seconds: number): Clock => ({
  wallMs: () => Date.now() + seconds * 1000,
  monotonicMs: () => performance.now(),
});

/** Nothing is waited for that a test waits for; the comparison only where it is asked for. */
const hurried = {
  driftMs: 0,
  ciliumNodesMs: 50,
  definitionsMs: 50,
  history: { settleMs: 50, latestMs: 120_000, everyMs: 10 },
};

/** The smallest whole seconds; for stories in which a leader is cut off. */
export const shortLease = {
  timings: { leaseDurationSeconds: 1, renewDeadlineSeconds: 0.8, retryPeriodSeconds: 0.2 },
};

function collectingLog(lines: LogLine[]): Log {
  const at = (level: string) => (fields: object, msg: string) => {
    lines.push({ ...fields, level, msg });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

const verbs: Record<string, string> = {
  POST: 'create',
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** `/apis/cadastre.dev/v1alpha1/nodeblocks/10-0-0-0-24`: verb, resource with subresource, name. */
function partsOf(method: string, path: string, name: string | undefined) {
  const rest = path.replace(/^\/api\/v1\/|^\/apis\/[^/]+\/[^/]+\//, '').split('/');
  const [resource = '', ofPath = '', subresource] = rest[0] === 'namespaces' ? rest.slice(2) : rest;
  return {
    verb: verbs[method] ?? method,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name: name ?? ofPath,
  };
}
