import { afterEach, beforeEach, expect, test } from 'vitest';
import { fixedCredential } from '../src/kube/access.ts';
import type { ApiError } from '../src/kube/api-error.ts';
import { KubeClient } from '../src/kube/client.ts';
import {
  type FaultName,
  type FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from './parts/fault-proxy.ts';
import { TestApi, thing, things, thingsPath, until } from './parts/test-api.ts';

let api: TestApi;
let proxy: FaultProxy;
let client: KubeClient;
async function start(options: Partial<FaultProxyOptions> = {}): Promise<void> {
  proxy = await startFaultProxy({
    target: { url: api.url, ca: '', token: 't' },
    seed: 1,
    ...options,
  });
  client = new KubeClient({
    server: proxy.url,
    tls: {},
    credentials: fixedCredential(),
    namespace: 'default',
    origin: 'a test',
  });
}
beforeEach(async () => {
  api = await TestApi.start();
});
afterEach(async () => {
  await client.close();
  await proxy.stop();
  await api.stop();
});

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: ApiError) => error,
  );
const make = (name: string) => client.create(things, thing(name), { retries: 0 });
const isThere = (name: string) => api.object(`${thingsPath}/${name}`) !== undefined;

test('without faults it is not there: writes, lists and watches pass', async () => {
  await start();
  await make('a');
  expect(api.asked[0]?.headers.authorization).toBe('Bearer t');
  const { items, resourceVersion } = await client.list(things);
  expect(items).toHaveLength(1);
  const heard: string[] = [];
  const stop = new AbortController();
  const watch = client.watch(things, { resourceVersion, signal: stop.signal }, (event) =>
    heard.push(event.type),
  );
  await until('the watch is up', () => api.proxy.watching === 1);
  await make('b');
  await until('it is heard', () => heard.length === 1);
  stop.abort();
  await failure(watch);
  await until('the watch is closed behind the proxy too', () => api.proxy.watching === 0);
});

test.each<[FaultName, number, boolean]>([
  ['conflict', 409, false],
  ['throttled', 429, false],
  ['throttledBare', 429, false],
  ['errorBefore', 500, false],
  ['closeBefore', 0, false],
  ['closeAfterWrite', 0, true],
  ['errorAfterWrite', 500, true],
])('%s: the client sees %i; done: %s', async (fault, status, isDone) => {
  await start({ faults: { [fault]: 1 } });
  const error = await failure(make('a'));
  expect(error?.status).toBe(status);
  expect(isThere('a')).toBe(isDone);
  if (!isDone && status !== 0 && status !== 500) expect(error?.outcome).toBe('refused');
  if (isDone) expect(error?.outcome).toBe('unknown');
  expect(proxy.counts[fault]).toBe(1);
  proxy.calm();
  await make('b');
  expect(proxy.counts[fault]).toBe(1);
});

test('a stale list is a true one of the past, with its own version', async () => {
  await start();
  api.put(`${thingsPath}/old`);
  await proxy.record(thingsPath);
  const { version } = api;
  api.delete(`${thingsPath}/old`);
  api.put(`${thingsPath}/new`);
  proxy.set({ staleList: 1 });
  const stale = await client.list(things);
  expect(stale.items.map(({ metadata }) => metadata.name)).toEqual(['old']);
  expect(stale.resourceVersion).toBe(String(version));
  proxy.calm();
  expect((await client.list(things)).items.map(({ metadata }) => metadata.name)).toEqual(['new']);
});

test('gone: on a watch, and on the next page of a list', async () => {
  await start({ faults: { goneWatch: 1, goneContinue: 1 } });
  for (let i = 0; i < 5; i += 1) api.put(`${thingsPath}/t${i}`);
  for (let i = 0; i < 6; i += 1) {
    const error = await failure(client.watch(things, { resourceVersion: '1' }, () => {}));
    expect(error?.isGone).toBe(true);
  }
  expect((await client.list(things, { limit: 2 })).items).toHaveLength(5);
  expect(proxy.counts).toMatchObject({ goneWatch: 6, goneContinue: 3 });
});

test('frozen, nothing moves; thawed, it goes on', async () => {
  await start();
  proxy.freeze();
  const made = make('a');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isThere('a')).toBe(false);
  proxy.thaw();
  await made;
});

test('watches can be cut, at random or on demand', async () => {
  await start();
  const watch = () =>
    failure(client.watch(things, { resourceVersion: String(api.version) }, () => {}));
  const first = watch();
  await until('the watch is up', () => api.proxy.watching === 1);
  await until('the proxy knows it', () => proxy.dropWatches() === 1);
  expect((await first)?.status).toBe(0);
  proxy.set({ dropWatch: 1 });
  const second = watch();
  await until('the watch is up', () => api.proxy.watching === 1);
  api.put(`${thingsPath}/a`);
  expect((await second)?.status).toBe(0);
  expect(proxy.counts.dropWatch).toBe(1);
});

test('what is spared is spared', async () => {
  await start({ faults: { errorBefore: 1 }, spare: (_method, path) => path.includes('/things') });
  await make('a');
});

test('the same seed draws the same fate', async () => {
  const fates: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    await start({ seed: 99, faults: { conflict: 0.5 } });
    let fate = '';
    for (let i = 0; i < 20; i += 1) {
      fate += (await failure(make(`r${run}-${i}`))) === undefined ? '+' : '-';
    }
    fates.push(fate);
    if (run === 0) {
      await client.close();
      await proxy.stop();
    }
  }
  expect(fates[0]).toBe(fates[1]);
  expect(fates[0]).toMatch(/\+.*-|-.*\+/);
});
