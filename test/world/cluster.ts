import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { ciliumNodeCrd } from '../../src/lab/cluster/objects.ts';
import { apiVersion } from '../../src/model/keys.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../parts/apiserver.ts';
import { startEmbeddedApiServer } from '../parts/embedded-apiserver.ts';
import { writeKubeconfig } from '../parts/kubeconfig.ts';
import { type KubectlAnswer, kubectl } from '../parts/kubectl.ts';
import { eventually } from './eventually.ts';
import {
  type BlockObject,
  type CiliumNodeObject,
  type EventObject,
  type LeaseObject,
  type NodeObject,
  type PoolObject,
  type PoolSpec,
  paths,
} from './objects.ts';
import { OperatorProcess } from './operator-process.ts';
import { RequestLog } from './request-log.ts';

export interface Answer<T> {
  status: number;
  body: T;
}

export interface NewNode {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  podCIDRs?: string[];
  addresses?: string[];
}

/** Any object of a list. */
interface Listed<T> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[];
}

/** Short, so that many take-overs fit into a story; safety does not rest on it. */
export const shortLease = ['--lease-duration=2', '--renew-deadline=1.5', '--retry-period=0.5'];

/**
 * A cluster for the stories: a real API server, operators as processes, and a
 * hand of the test's own that goes past all code under test. What reaches the
 * API server is logged by the API server itself, so that writes are counted by
 * somebody who has no stake in the result.
 */
export class Cluster {
  readonly api: ApiServer;
  readonly requests: RequestLog;
  readonly dir: string;
  readonly operators: OperatorProcess[] = [];
  #hand: Pool;
  #serial = 0;

  private constructor(api: ApiServer, dir: string, requests: RequestLog) {
    this.api = api;
    this.dir = dir;
    this.requests = requests;
    this.#hand = handTo(api);
  }

  static async start(options: ApiServerOptions = {}): Promise<Cluster> {
    const dir = mkdtempSync(join(tmpdir(), 'cadastre-world-'));
    const requests = RequestLog.in(dir);
    const extraArgs = [...requests.apiServerArgs, ...(options.extraArgs ?? [])];
    // The embedded one passes for a cluster too: the same stories can be told on it.
    const start =
      process.env.CADASTRE_TEST_APISERVER === 'embedded' ? startEmbeddedApiServer : startApiServer;
    const api = await start({ ...options, extraArgs });
    return new Cluster(api, dir, requests);
  }

  async stop(): Promise<void> {
    await this.stopOperators();
    await this.#hand.destroy();
    await this.api.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** JSON in, JSON out; a refusal is an answer. */
  async call<T = unknown>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  ): Promise<Answer<T>> {
    const answer = await this.#hand.request({
      method,
      path,
      body: body === undefined ? null : JSON.stringify(body),
      headers: {
        authorization: `Bearer ${this.api.token}`,
        'user-agent': 'the-test',
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
    });
    const text = await answer.body.text();
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, body: (isJson ? JSON.parse(text) : text) as T };
  }

  /** As `call`, but a refusal is an error. */
  async must<T = unknown>(...args: Parameters<Cluster['call']>): Promise<T> {
    const answer = await this.call<T>(...args);
    if (answer.status < 300) return answer.body;
    throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async list<T>(path: string): Promise<T[]> {
    const { items } = await this.must<Listed<T>>('GET', path);
    return items;
  }

  nodes = () => this.list<NodeObject>(paths.nodes);
  pools = () => this.list<PoolObject>(paths.pools);
  blocks = () => this.list<BlockObject>(paths.blocks);
  ciliumNodes = () => this.list<CiliumNodeObject>(paths.ciliumNodes);
  events = () => this.list<EventObject>(paths.events);

  node(name: string): Promise<NodeObject> {
    return this.must<NodeObject>('GET', `${paths.nodes}/${name}`);
  }

  pool(name: string): Promise<PoolObject> {
    return this.must<PoolObject>('GET', `${paths.pools}/${name}`);
  }

  async lease(name = 'cadastre-operator'): Promise<LeaseObject | undefined> {
    const { status, body } = await this.call<LeaseObject>('GET', `${paths.leases}/${name}`);
    return status === 200 ? body : undefined;
  }

  createNode(name: string, node: NewNode = {}): Promise<NodeObject> {
    return this.must<NodeObject>('POST', paths.nodes, nodeBody(name, node));
  }

  async deleteNode(name: string): Promise<void> {
    await this.must('DELETE', `${paths.nodes}/${name}`);
  }

  /** What an agent says that has withdrawn all blocks of its node and does not use them. */
  async fence(name: string): Promise<void> {
    const { metadata } = await this.node(name);
    const own = (await this.blocks()).filter(({ spec }) => spec.node?.uid === metadata.uid);
    const fenced = own.map(({ spec, metadata: { uid } }) => ({ cidr: spec.cidr, uid }));
    const spec = { nodeUID: metadata.uid, fenced };
    const report = { apiVersion, kind: 'NodeReport', metadata: { name }, spec };
    const { status } = await this.call('POST', paths.reports, report);
    if (status === 409) await this.must('PATCH', `${paths.reports}/${name}`, { spec });
  }

  /** A node leaves properly: its agent withdraws everything and says so, then the Node goes. */
  async retireNode(name: string): Promise<void> {
    await this.fence(name);
    await this.deleteNode(name);
  }

  patchNode(name: string, patch: object): Promise<NodeObject> {
    return this.must<NodeObject>('PATCH', `${paths.nodes}/${name}`, patch);
  }

  createPool(name: string, spec: PoolSpec): Promise<PoolObject> {
    const body = { apiVersion: 'cadastre.dev/v1alpha1', kind: 'IPPool', metadata: { name }, spec };
    return this.must<PoolObject>('POST', paths.pools, body);
  }

  patchPool(name: string, spec: Partial<PoolSpec>): Promise<Answer<PoolObject>> {
    return this.call<PoolObject>('PATCH', `${paths.pools}/${name}`, { spec });
  }

  kubectl(args: string[], stdin?: string): Promise<KubectlAnswer> {
    return kubectl(this.api, args, stdin === undefined ? {} : { stdin });
  }

  /** A kubeconfig for another way to the API server: a proxy. */
  kubeconfigFor(server: string): string {
    this.#serial += 1;
    const path = join(this.dir, `kubeconfig-${this.#serial}`);
    const users = { admin: { token: this.api.token } };
    writeKubeconfig(path, { server, caFile: this.api.caFile, users });
    return path;
  }

  /** Starts one replica; its name is its identity in the lease. */
  async operator(
    flags: string[] = [],
    options: { name?: string; kubeconfigPath?: string; debug?: boolean } = {},
  ): Promise<OperatorProcess> {
    this.#serial += 1;
    const operator = await OperatorProcess.start({
      name: options.name ?? `operator-${this.#serial}`,
      kubeconfigPath: options.kubeconfigPath ?? this.api.kubeconfigPath,
      dir: this.dir,
      flags,
      debug: options.debug ?? false,
    });
    this.operators.push(operator);
    return operator;
  }

  /** One replica that leads when this returns. */
  async leader(flags: string[] = []): Promise<OperatorProcess> {
    const operator = await this.operator(flags);
    await operator.whenLeading();
    return operator;
  }

  async stopOperators(): Promise<void> {
    await Promise.all(this.operators.splice(0).map((operator) => operator.stop()));
  }

  /** The custom resources without an operator: for what must exist before the first one starts. */
  async registerCrds(): Promise<void> {
    const operator = await this.operator(['--lease-name=registration']);
    await operator.whenSynced();
    await operator.stop();
    this.operators.splice(this.operators.indexOf(operator), 1);
  }

  async registerCiliumNodes(): Promise<void> {
    const answer = await this.call('POST', paths.crds, ciliumNodeCrd());
    if (answer.status !== 201 && answer.status !== 409) {
      throw new Error(`ciliumnodes: ${JSON.stringify(answer.body)}`);
    }
    await eventually(() => this.ciliumNodes());
  }

  createCiliumNode(name: string, podCIDRs: string[]): Promise<CiliumNodeObject> {
    const body = {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNode',
      metadata: { name },
      // What Cilium's agent writes beside the blocks must survive every write of ours.
      spec: { ipam: { podCIDRs }, health: { ipv4: '10.200.0.9' }, encryption: { key: 3 } },
    };
    return this.must<CiliumNodeObject>('POST', paths.ciliumNodes, body);
  }

  /** Back to an empty cluster, as quickly as the API server can; the CRDs stay. */
  async wipe(): Promise<void> {
    await this.stopOperators();
    const registered = (await this.call('GET', `${paths.pools}?limit=1`)).status === 200;
    if (registered) {
      for (const { metadata } of await this.pools()) {
        if (metadata.finalizers?.length) {
          const path = `${paths.pools}/${metadata.name}`;
          await this.must('PATCH', path, { metadata: { finalizers: null } });
        }
      }
    }
    for (const { metadata } of await this.nodes()) {
      if (metadata.finalizers?.length) {
        await this.patchNode(metadata.name, { metadata: { finalizers: null } });
      }
    }
    const collections: string[] = [paths.nodes, paths.events];
    if (registered) collections.push(paths.pools, paths.blocks, paths.reports);
    if ((await this.call('GET', `${paths.ciliumNodes}?limit=1`)).status === 200) {
      collections.push(paths.ciliumNodes);
    }
    for (const path of collections) await this.must('DELETE', path);
    for (const { metadata } of await this.list<LeaseObject>(paths.leases)) {
      // The API server renews one of its own there.
      if (metadata.name.startsWith('apiserver-')) continue;
      await this.call('DELETE', `${paths.leases}/${metadata.name}`);
    }
    await eventually(async () => {
      for (const path of collections) {
        const left = await this.list(path);
        if (left.length > 0) throw new Error(`${path} still holds ${left.length}`);
      }
    });
  }

  /** After the API server was down: connections from before are no use. */
  async reconnect(): Promise<void> {
    await this.#hand.destroy();
    this.#hand = handTo(this.api);
  }

  writeFile(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }
}

function handTo(api: ApiServer): Pool {
  return new Pool(api.url, { connections: 32, connect: { ca: api.ca } });
}

export function nodeBody(name: string, node: NewNode = {}): object {
  const { labels, annotations, finalizers, podCIDRs, addresses } = node;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels, annotations, finalizers },
    spec: podCIDRs === undefined ? {} : { podCIDR: podCIDRs[0], podCIDRs },
    status: {
      addresses: addresses?.map((address) => ({ type: 'InternalIP', address })),
    },
  };
}
