import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { TestApi } from '../../test/parts/test-api.ts';
import { Metrics } from '../base/metrics.ts';
import { KubeClient } from './client.ts';
import { EventRecorder, type EventRecorderOptions } from './events.ts';

const inDefault = '/api/v1/namespaces/default/events';
const node = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'uid-a' };

let api: TestApi;
let client: KubeClient;
let nowMs: number;
beforeEach(async () => {
  api = await TestApi.start([]);
  client = new KubeClient(api.access());
  nowMs = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(async () => {
  await client.close();
  await api.stop();
});

function recorder(more: Partial<EventRecorderOptions> = {}): EventRecorder {
  return new EventRecorder({
    client,
    component: 'cadastre-operator',
    instance: 'pod-1',
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    ...more,
  });
}

const warning = (message = 'pool "a" is full') =>
  ({ object: node, type: 'Warning', reason: 'PoolExhausted', message }) as const;

test('an Event about a cluster-scoped object lives in default, one about a namespaced one beside it', async () => {
  api.put('/api/v1/namespaces/web');
  const events = recorder();
  events.record(warning());
  events.record({
    object: { ...node, kind: 'Pod', uid: 'p', namespace: 'web' },
    type: 'Normal',
    reason: 'Seen',
    message: 'm',
  });
  await events.flush();
  expect(api.objects(inDefault)).toMatchObject([
    {
      involvedObject: { kind: 'Node', name: 'a', uid: 'uid-a' },
      type: 'Warning',
      reason: 'PoolExhausted',
      message: 'pool "a" is full',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'cadastre-operator' },
      reportingInstance: 'pod-1',
    },
  ]);
  expect(api.objects('/api/v1/namespaces/web/events')).toHaveLength(1);
});

test('the same news again is a count, other news another Event', async () => {
  const events = recorder();
  events.record(warning());
  await events.flush();
  nowMs += 60_000;
  events.record(warning());
  events.record(warning());
  events.record(warning('pool "b" is full'));
  await events.flush();
  const written = api.objects(inDefault);
  expect(written.map(({ count }) => count).sort()).toEqual([1, 3]);
  expect(written.find(({ count }) => count === 3)?.lastTimestamp).toBe('2026-01-01T00:01:00Z');
});

test('an Event that the server has forgotten is written anew', async () => {
  const events = recorder();
  events.record(warning());
  await events.flush();
  api.delete(`${inDefault}/${api.objects(inDefault)[0]?.metadata.name}`);
  events.record(warning());
  await events.flush();
  expect(api.objects(inDefault)).toMatchObject([{ count: 2 }]);
});

test('one noisy object is limited; others are not, and its count catches up later', async () => {
  const metrics = new Metrics();
  const events = recorder({ burst: 3, refillSeconds: 60, metrics });
  for (let i = 0; i < 10; i += 1) {
    events.record(warning());
    await events.flush();
  }
  events.record({ ...warning(), object: { ...node, name: 'b', uid: 'uid-b' } });
  await events.flush();
  expect(api.asked).toHaveLength(4);
  expect(metrics.text()).toContain(
    'cadastre_events_total{reason="PoolExhausted",result="limited"} 7',
  );
  nowMs += 61_000;
  events.record(warning());
  await events.flush();
  expect(api.objects(inDefault).find(({ count }) => count === 11)).toBeDefined();
});

test('failures are counted and logged, never thrown, and do not hold up others', async () => {
  const said: string[] = [];
  const silent = () => {};
  const metrics = new Metrics();
  const events = recorder({
    metrics,
    log: { debug: silent, info: silent, warn: (_f, m) => said.push(m), error: silent },
  });
  let once = true;
  api.intercept = (_asked, response) => {
    if (!once) return false;
    once = false;
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  events.record(warning('one'));
  await events.flush();
  events.record(warning('two'));
  await events.flush();
  expect(said).toEqual(['an Event could not be written']);
  expect(api.objects(inDefault)).toHaveLength(1);
  expect(metrics.text()).toContain('result="failed"} 1');
});

test('a message of a novel is cut to what the API takes, and the name of the Event too', async () => {
  const events = recorder();
  events.record({
    object: { ...node, name: 'n'.repeat(253) },
    type: 'Normal',
    reason: 'Long',
    message: 'x'.repeat(5_000),
  });
  await events.flush();
  const [event] = api.objects(inDefault);
  expect(event?.message).toBe('x'.repeat(1_024));
  expect(event?.metadata.name.length).toBeLessThanOrEqual(253);
});

test('a flood is bounded in memory', async () => {
  api.intercept = () => true;
  const events = recorder();
  for (let i = 0; i < 20_000; i += 1) {
    events.record({ ...warning(), object: { ...node, name: `n${i}`, uid: `u${i}` } });
  }
  expect(events.pending).toBeLessThanOrEqual(4_096);
});
