/**
 * The embedded API server in the test's own process, behind a proxy that the test can
 * script (`intercept`). What the test puts there itself goes past HTTP and takes effect
 * at once, so that it can say what was there before what.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectionOf, keyIn, type ObjectTarget } from '../../src/apiserver/api.ts';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { isEstablished } from '../../src/apiserver/custom/definition.ts';
import { route } from '../../src/apiserver/http/route.ts';
import { apiVersionOf } from '../../src/apiserver/resource.ts';
import type { Entry } from '../../src/apiserver/store/collection.ts';
import { create } from '../../src/apiserver/verbs/create.ts';
import { remove } from '../../src/apiserver/verbs/delete.ts';
import { replace } from '../../src/apiserver/verbs/update.ts';
import { fixedCredential, type KubeAccess } from '../../src/kube/access.ts';
import type { Resource } from '../../src/kube/resource.ts';
import type { Identity, KubeObject, ObjectMeta } from '../../src/model/object.ts';
import { type Asked, FaultProxy, type Intercept } from './fault-proxy.ts';

/** Of any field, for tests that are about no kind in particular. */
export const things: Resource = {
  group: 'test.dev',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
};

export const thing = (name: string): KubeObject & { metadata: { name: string } } => ({
  apiVersion: 'test.dev/v1',
  kind: 'Thing',
  metadata: { name },
});
export const thingsPath = '/apis/test.dev/v1/things';

/** A cluster-scoped kind that takes any field. */
export function looseCrd({
  group,
  version,
  plural,
  kind,
}: Omit<Resource, 'namespaced'>): KubeObject {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

export const thingCrd = looseCrd(things);

export interface StoredObject extends KubeObject {
  metadata: ObjectMeta & Identity;
}

export class TestApi {
  readonly asked: Asked[] = [];
  /** True from it: the request is dealt with. */
  intercept: Intercept | undefined;
  readonly proxy: FaultProxy;
  readonly #dir: string;
  #server: ApiServer;

  private constructor(dir: string, server: ApiServer) {
    this.#dir = dir;
    this.#server = server;
    this.proxy = new FaultProxy({
      target: server,
      seed: 1,
      intercept: (asked, response) => {
        this.asked.push(asked);
        return this.intercept?.(asked, response) ?? false;
      },
    });
  }

  /** With these resource definitions besides the built-in kinds. */
  static async start(crds: readonly KubeObject[] = [thingCrd]): Promise<TestApi> {
    const dir = mkdtempSync(join(tmpdir(), 'cadastre-test-api-'));
    const api = new TestApi(dir, await startServer(join(dir, 'data')));
    await api.proxy.listen();
    await Promise.all(crds.map((crd) => api.register(crd)));
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here' } }],
      clusters: [{ name: 'here', cluster: { server: api.proxy.url } }],
    };
    writeFileSync(api.kubeconfig, JSON.stringify(config));
    return api;
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.#server.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  get url(): string {
    return this.proxy.url;
  }

  get kubeconfig(): string {
    return join(this.#dir, 'kubeconfig');
  }

  access(more: Partial<KubeAccess> = {}): KubeAccess {
    return {
      server: this.proxy.url,
      tls: {},
      credentials: fixedCredential(),
      namespace: 'default',
      origin: 'a test',
      ...more,
    };
  }

  get version(): number {
    return this.#server.api.store.version;
  }

  /** Until it is served. */
  async register(crd: KubeObject): Promise<void> {
    const { name = '' } = crd.metadata ?? {};
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
    this.put(path, crd);
    await until(`${name} is served`, () => this.#isEstablished(path));
  }

  object(path: string): StoredObject | undefined {
    return this.#entry(path)?.object as StoredObject | undefined;
  }

  /** Objects of a collection path, such as `/api/v1/nodes`. */
  objects(path: string): StoredObject[] {
    const { type, namespace } = this.#target(`${path}/any`);
    const entries = collectionOf(this.#server.api, type).list(namespace);
    return entries.map(({ object }) => object as StoredObject);
  }

  /** Creates it or replaces all of it, its status as well. */
  put(path: string, fields: KubeObject = {}): StoredObject {
    const target = this.#target(path);
    const { type, name, namespace } = target;
    const { api } = this.#server;
    const { status, metadata, ...rest } = fields;
    const known = this.object(path)?.metadata;
    const body = asSent({
      ...rest,
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { ...metadata, name, resourceVersion: known?.resourceVersion },
      ...(type.hasStatus ? {} : { status }),
    });
    if (known === undefined) create(api, { type, namespace }, body, options());
    else replace(api, target, body, options());
    if (type.hasStatus && status !== undefined) {
      const whole = asSent({ ...this.object(path), status });
      replace(api, { ...target, subresource: 'status' }, whole, options());
    }
    return this.object(path) as StoredObject;
  }

  delete(path: string): void {
    remove(this.#server.api, this.#target(path), { gracePeriodSeconds: 0 });
  }

  /** What `restore` is given later. The server is down for a moment. */
  async backUp(): Promise<string> {
    const backup = mkdtempSync(join(this.#dir, 'backup-'));
    await this.#server.stop();
    cpSync(join(this.#dir, 'data'), backup, { recursive: true });
    await this.#startAgain();
    return backup;
  }

  /** As an etcd restored from the backup: what came later never was. */
  async restore(backup: string): Promise<void> {
    await this.#server.stop();
    rmSync(join(this.#dir, 'data'), { recursive: true });
    cpSync(backup, join(this.#dir, 'data'), { recursive: true });
    await this.#startAgain();
  }

  async #startAgain(): Promise<void> {
    this.#server = await startServer(join(this.#dir, 'data'), this.#server.port);
  }

  #isEstablished(path: string): boolean {
    const entry = this.#entry(path);
    return entry !== undefined && isEstablished(entry.object);
  }

  #entry(path: string): Entry | undefined {
    const target = this.#target(path);
    return collectionOf(this.#server.api, target.type).get(keyIn(target, target.name));
  }

  #target(path: string): ObjectTarget {
    const found = route(this.#server.api.registry, path);
    if (found?.name === undefined) throw new Error(`no object can be at ${path}`);
    return { ...found, name: found.name };
  }
}

function startServer(dataDir: string, port?: number): Promise<ApiServer> {
  return startApiServer({ dataDir, port, waitsForDisk: false });
}

const asSent = (body: object): object => JSON.parse(JSON.stringify(body));

const options = () => ({
  dryRun: false,
  fieldManager: 'a test',
  fieldValidation: 'Strict' as const,
  force: false,
  warnings: [],
});

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Until the condition holds; says what was waited for when it never does. */
export async function until(
  what: string,
  condition: () => boolean,
  timeoutMs = 50_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
