/**
 * The hands to the API server, on a real one: it is killed and restarted, its
 * history is compacted away, it is hidden behind a proxy that lies. Whatever
 * happens in between, the copy ends as the server has it, and `refused` always
 * meant: not done.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Metrics } from '../../src/base/metrics.ts';
import { fixedCredential, type KubeAccess } from '../../src/kube/access.ts';
import { ApiError } from '../../src/kube/api-error.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { ensureCrds } from '../../src/kube/crds.ts';
import { EventRecorder, eventResource } from '../../src/kube/events.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { Leadership } from '../../src/kube/lease.ts';
import { ListWatch } from '../../src/kube/list-watch.ts';
import type { Kept } from '../../src/kube/object-cache.ts';
import type { Resource, StoredObject } from '../../src/kube/resource.ts';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { type FaultProxy, startFaultProxy } from '../parts/fault-proxy.ts';
import { seededRandom } from '../parts/seeded-random.ts';

const configMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

let api: ApiServer;
let client: KubeClient;
let stop: AbortController;
let namespace: string;
let serial = 0;

beforeAll(async () => {
  api = await startApiServer();
  client = new KubeClient(await loadKubeConfig({ kubeconfig: api.kubeconfigPath, env: {} }));
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
});
beforeEach(async () => {
  stop = new AbortController();
  serial += 1;
  namespace = `kube-${serial}`;
  await client.create(namespaces, { metadata: { name: namespace } });
});
afterEach(() => stop.abort());

function keep(raw: unknown): Kept {
  const { metadata } = raw as StoredObject;
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
  };
}

function follow(through: KubeClient, metrics = new Metrics()): ListWatch<Kept> {
  const versions = new Map<string, number>();
  const listWatch = new ListWatch<Kept>({
    client: through,
    resource: configMaps,
    namespace,
    keep,
    metrics,
    pageSize: 50,
    handler: {
      onPut(next) {
        const last = versions.get(next.uid) ?? 0;
        if (Number(next.resourceVersion) <= last)
          wentBack.push(`${next.name}@${next.resourceVersion}`);
        versions.set(next.uid, Number(next.resourceVersion));
      },
      onDelete: (last) => versions.delete(last.uid),
    },
  });
  listWatch.start(stop.signal);
  return listWatch;
}
const wentBack: string[] = [];
afterEach(() => expect(wentBack).toEqual([]));

/** Past every cache and client of ours. */
async function truth(): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const { body } = await api.call<{ items: StoredObject[] }>('GET', path);
  return body.items
    .map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)
    .sort()
    .join('\n');
}
const copy = (listWatch: ListWatch<Kept>) =>
  [...listWatch.values()]
    .map((kept) => `${kept.name}@${kept.resourceVersion}`)
    .sort()
    .join('\n');

async function untilTrue(listWatch: ListWatch<Kept>, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const expected = await truth();
    if (copy(listWatch) === expected) return;
    if (performance.now() > deadline) expect(copy(listWatch)).toBe(expected);
    await rest(20);
  }
}
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const create = (name: string) =>
  client.create(configMaps, { metadata: { name }, data: { a: '1' } }, { namespace });
const change = (name: string, value: string) =>
  client.patch(configMaps, name, { type: 'merge', body: { data: { a: value } }, namespace });
const remove = (name: string) => client.delete(configMaps, name, { namespace });

/** So many at a time: as fast as the server goes, without a queue. */
async function inParallel(count: number, width: number, work: (i: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function until(what: string, isSo: () => boolean, timeoutMs = 60_000): Promise<number> {
  const startedMs = performance.now();
  while (!isSo()) {
    if (performance.now() - startedMs > timeoutMs) throw new Error(`never happened: ${what}`);
    await rest(2);
  }
  return performance.now() - startedMs;
}

describe('who may knock', () => {
  test('a token, a client certificate, and somebody without rights', async () => {
    for (const context of ['admin', 'certificate']) {
      const access = await loadKubeConfig({ kubeconfig: api.kubeconfigPath, context, env: {} });
      const other = new KubeClient(access);
      expect(await other.rawGet('/version')).toHaveProperty('gitVersion');
      await other.close();
    }
    const access = await loadKubeConfig({
      kubeconfig: api.kubeconfigPath,
      context: 'nobody',
      env: {},
    });
    const nobody = new KubeClient(access);
    const error = await nobody.list(configMaps).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 403, reason: 'Forbidden', isForbidden: true });
    await nobody.close();
  });

  test('a server whose certificate nobody vouches for', async () => {
    const access: KubeAccess = {
      server: api.url,
      tls: {},
      credentials: fixedCredential(),
      namespace: 'default',
      origin: 'a test',
    };
    const stranger = new KubeClient(access);
    const error = (await stranger.rawGet('/version').catch((thrown) => thrown)) as ApiError;
    expect(error).toMatchObject({ code: 'API_UNREACHABLE', status: 0 });
    expect(error.remedy).toContain('certificate-authority');
    await stranger.close();
  });
});

describe('what the real server answers', () => {
  test('exists, changed, gone, invalid: each is told apart', async () => {
    const made = await create('a');
    const failure = (work: Promise<unknown>) => work.catch((thrown) => thrown) as Promise<ApiError>;
    expect(await failure(create('a'))).toMatchObject({ isAlreadyExists: true, isConflict: false });
    await change('a', '2');
    expect(await failure(client.replace(configMaps, 'a', made, { namespace }))).toMatchObject({
      isConflict: true,
      outcome: 'refused',
    });
    expect(
      await failure(client.delete(configMaps, 'a', { namespace, uid: 'wrong' })),
    ).toMatchObject({ isConflict: true });
    expect(
      await failure(client.create(configMaps, { metadata: { name: 'A' } }, { namespace })),
    ).toMatchObject({
      isInvalid: true,
    });
    expect(await remove('a')).toEqual({ gone: true });
    expect(await failure(remove('a'))).toMatchObject({ isNotFound: true });
  });

  test('an object that a finalizer holds back is not gone', async () => {
    await client.create(
      configMaps,
      { metadata: { name: 'held', finalizers: ['cadastre.dev/test'] } },
      { namespace },
    );
    expect(await remove('held')).toEqual({ gone: false });
    await client.patch(configMaps, 'held', {
      type: 'json',
      body: [{ op: 'remove', path: '/metadata/finalizers' }],
      namespace,
    });
  });
});

describe('following', () => {
  test('500 objects listed in pages while they change', async () => {
    await inParallel(500, 32, (i) => create(`m${i}`));
    let isDone = false;
    const churn = inParallel(600, 8, async (i) => {
      if (isDone) return;
      if (i % 3 === 0) await change(`m${i % 500}`, String(i)).catch(() => {});
      else if (i % 3 === 1) await remove(`m${i % 500}`).catch(() => {});
      else await create(`n${i}`);
    });
    const listWatch = follow(client);
    await listWatch.synced;
    for (let i = 0; i < 5; i += 1) await listWatch.relist();
    isDone = true;
    await churn;
    await untilTrue(listWatch);
  });

  test('the server is killed and restarted while things change', async () => {
    const metrics = new Metrics();
    const listWatch = follow(client, metrics);
    await listWatch.synced;
    await inParallel(50, 16, (i) => create(`a${i}`));
    for (let round = 0; round < 2; round += 1) {
      const unknown: string[] = [];
      const writing = inParallel(100, 8, async (i) => {
        const name = `b${round}-${i}`;
        await create(name).catch((error: ApiError) => {
          if (error.outcome === 'unknown') unknown.push(name);
        });
      });
      await api.kill9();
      await writing;
      await api.restart();
      await remove(`a${round}`);
      await untilTrue(listWatch);
      expect(unknown.length).toBeLessThanOrEqual(100);
    }
    expect(listWatch.silentMs()).toBeLessThan(30_000);
  });

  test('a history that was compacted away: 410, and the copy is whole again', async () => {
    const proxy = await startFaultProxy({ target: api, seed: 1 });
    const through = new KubeClient(accessThrough(proxy));
    const metrics = new Metrics();
    const listWatch = follow(through, metrics);
    await listWatch.synced;
    await inParallel(20, 8, (i) => create(`a${i}`));
    await untilTrue(listWatch);
    // Nothing reaches the copy while history moves on and is forgotten.
    proxy.set({ closeBefore: 1, goneWatch: 0 });
    proxy.freeze();
    await inParallel(10, 8, (i) => remove(`a${i}`));
    await inParallel(10, 8, (i) => create(`b${i}`));
    const { resourceVersion } = await client.list(configMaps, { namespace, limit: 1 });
    const compaction = await fetch(`${api.etcdUrl}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: resourceVersion }),
    });
    expect(compaction.ok).toBe(true);
    // A restarted server has nothing older than now in its own memory either.
    await api.kill9();
    await api.restart();
    proxy.calm();
    proxy.dropWatches();
    await untilTrue(listWatch);
    expect(metrics.text()).toMatch(
      /cadastre_kube_lists_total\{resource="configmaps",result="applied"\} [2-9]/,
    );
    await through.close();
    await proxy.stop();
  });
});

function accessThrough(proxy: FaultProxy): KubeAccess {
  return {
    server: proxy.url,
    tls: {},
    credentials: fixedCredential(),
    namespace: 'default',
    origin: 'the fault proxy',
  };
}

describe('behind a proxy that lies', () => {
  const required = [
    'conflict',
    'closeAfterWrite',
    'errorAfterWrite',
    'staleList',
    'dropWatch',
    'goneWatch',
    'goneContinue',
  ] as const;

  test('refused was never done, done was never refused, and the copy ends true', async () => {
    const seed = Number(process.env.SEED ?? 7);
    const random = seededRandom(seed);
    const proxy = await startFaultProxy({
      target: api,
      seed,
      delayMs: 20,
      freezeMs: 100,
      faults: {
        conflict: 0.05,
        throttledBare: 0.05,
        errorBefore: 0.05,
        closeBefore: 0.03,
        closeAfterWrite: 0.05,
        errorAfterWrite: 0.05,
        goneWatch: 0.3,
        dropWatch: 0.3,
        goneContinue: 0.3,
        staleList: 0.5,
        delay: 0.1,
        freeze: 0.002,
      },
    });
    const through = new KubeClient(accessThrough(proxy));
    const listWatch = follow(through);
    const fates = new Map<string, 'done' | 'refused' | 'unknown'>();
    const relists = setInterval(() => listWatch.relist().catch(() => {}), 150);
    await inParallel(800, 16, async (i) => {
      const name = `p${i}`;
      try {
        const made = await through.create(configMaps, { metadata: { name } }, { namespace });
        listWatch.put(made);
        fates.set(name, 'done');
        if (random() < 0.3) {
          const uid = made.metadata.uid ?? '';
          const { gone } = await through.delete(configMaps, name, { namespace, uid });
          if (gone) listWatch.remove(`${namespace}/${name}`, uid);
          fates.set(name, 'refused');
        }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (!fates.has(name)) fates.set(name, error.outcome ?? 'unknown');
        else if (error.outcome === 'unknown') fates.set(name, 'unknown');
      }
    });
    clearInterval(relists);
    for (let i = 0; required.some((fault) => proxy.counts[fault] === 0) && i < 1_000; i += 1) {
      proxy.dropWatches();
      await through
        .create(configMaps, { metadata: { name: `more-${i}` } }, { namespace })
        .catch(() => {});
      await rest(50);
    }
    proxy.calm();
    await listWatch.relist();
    await untilTrue(listWatch);
    const names = new Set((await truth()).split('\n').map((line) => line.split('@')[0]));
    for (const [name, fate] of fates) {
      if (fate !== 'unknown') expect([name, names.has(name)]).toEqual([name, fate === 'done']);
    }
    const counted = [...fates.values()].reduce<Record<string, number>>((sum, fate) => {
      sum[fate] = (sum[fate] ?? 0) + 1;
      return sum;
    }, {});
    console.log('faults', JSON.stringify(proxy.counts), 'fates', JSON.stringify(counted));
    for (const fault of required) expect([fault, proxy.counts[fault] > 0]).toEqual([fault, true]);
    await through.close();
    await proxy.stop();
  });
});

describe('leading', () => {
  const candidates: KubeClient[] = [];
  afterEach(async () => {
    for (const each of candidates.splice(0)) await each.close();
  });

  async function candidate(
    identity: string,
    timings = { leaseDurationSeconds: 2, renewDeadlineSeconds: 1.2, retryPeriodSeconds: 0.4 },
  ): Promise<Leadership> {
    const own = new KubeClient(await loadKubeConfig({ kubeconfig: api.kubeconfigPath, env: {} }));
    candidates.push(own);
    return new Leadership({ client: own, namespace, name: 'cadastre', identity, timings });
  }

  async function lease() {
    const leases = {
      group: 'coordination.k8s.io',
      version: 'v1',
      plural: 'leases',
      kind: 'Lease',
      namespaced: true,
    } as const;
    interface Lease {
      spec: { acquireTime: string; renewTime: string };
    }
    return (await client.get<Lease>(leases, 'cadastre', { namespace })).spec;
  }

  test('the other takes over after the lease, or at once after a release', async () => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    const stopA = new AbortController();
    const runA = a.run(stopA.signal);
    await until('a leads', () => a.isLeader());
    const runB = b.run(stop.signal);
    await rest(1_000);
    expect(b.isLeader()).toBe(false);
    const { renewTime } = await lease();
    stopA.abort();
    await runA;
    const takeOverMs = await until('b leads', () => b.isLeader());
    const { acquireTime } = await lease();
    expect(Date.parse(acquireTime) - Date.parse(renewTime)).toBeGreaterThanOrEqual(2_000);

    const c = await candidate('c');
    const runC = c.run(stop.signal);
    await rest(800);
    await b.release();
    const handOverMs = await until('c leads', () => c.isLeader());
    console.log(
      `take-over ${takeOverMs.toFixed(0)} ms after the leader stopped, hand-over ${handOverMs.toFixed(0)} ms`,
    );
    expect(await lease()).toMatchObject({ holderIdentity: 'c', leaseTransitions: 2 });
    await c.release();
    await Promise.all([runB, runC]);
  });

  test('a server that is away costs the leadership; one leads when it is back', async () => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    const runs = [a.run(stop.signal), b.run(stop.signal)];
    await until('one leads', () => a.isLeader() || b.isLeader());
    let both = 0;
    const check = setInterval(() => {
      if (a.isLeader() && b.isLeader()) both += 1;
    }, 1);
    await api.kill9();
    await until('nobody leads', () => !a.isLeader() && !b.isLeader());
    await api.restart();
    await until('one leads again', () => a.isLeader() || b.isLeader());
    await rest(2_000);
    clearInterval(check);
    expect(both).toBe(0);
    await Promise.all([a.release(), b.release()]);
    await Promise.all(runs);
  });
});

describe('what people and the server read', () => {
  test('an Event is accepted, and counted the second time', async () => {
    const events = new EventRecorder({ client, component: 'cadastre-test', instance: 'one' });
    const object = { apiVersion: 'v1', kind: 'Node', name: `node-${serial}`, uid: `uid-${serial}` };
    const news = { object, type: 'Warning', reason: 'PoolExhausted', message: 'full' } as const;
    events.record(news);
    await events.flush();
    events.record(news);
    await events.flush();
    const { items } = await client.list<{ count: number }>(eventResource, {
      namespace: 'default',
      fieldSelector: `involvedObject.name=${object.name}`,
    });
    expect(items.map(({ count }) => count)).toEqual([2]);
    await events.stop();
  });

  test('custom resources are registered by three at once, served, and upgraded in place', async () => {
    const said: string[] = [];
    const say = (_fields: object, message: string) => said.push(message);
    const log = { debug: say, info: say, warn: say, error: say };
    const definition = (extra: object) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'plots.kube-test.dev' },
      spec: {
        group: 'kube-test.dev',
        scope: 'Cluster',
        names: { plural: 'plots', singular: 'plot', kind: 'Plot' },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: { type: 'object', properties: { size: { type: 'integer' }, ...extra } },
                },
              },
            },
          },
        ],
      },
    });
    const plots: Resource = {
      group: 'kube-test.dev',
      version: 'v1alpha1',
      plural: 'plots',
      kind: 'Plot',
      namespaced: false,
    };
    // Who follows before the resource is there waits for it.
    const early = new ListWatch<Kept>({ client, resource: plots, keep, log });
    early.start(stop.signal);
    await Promise.all([1, 2, 3].map(() => ensureCrds(client, [definition({})], log)));
    await client.create(plots, {
      apiVersion: 'kube-test.dev/v1alpha1',
      kind: 'Plot',
      metadata: { name: 'a' },
    });
    await early.synced;
    await until('it is heard', () => early.get('a') !== undefined);
    expect(said.filter((line) => line.startsWith('registered'))).toHaveLength(1);
    expect(said.filter((line) => line.startsWith('upgraded'))).toHaveLength(0);
    await ensureCrds(client, [definition({ owner: { type: 'string' } })], log);
    expect(said.filter((line) => line.startsWith('upgraded'))).toHaveLength(1);
    await ensureCrds(client, [definition({ owner: { type: 'string' } })], log);
    expect(said.filter((line) => line.startsWith('upgraded'))).toHaveLength(1);
  });
});
