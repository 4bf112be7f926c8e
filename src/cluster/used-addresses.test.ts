import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestApi } from '../../test/parts/test-api.ts';
import { KubeClient } from '../kube/client.ts';
import { UsedAddresses } from './used-addresses.ts';

let api: TestApi;
let client: KubeClient;

beforeAll(async () => {
  api = await TestApi.start([]);
  client = new KubeClient(api.access());
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
});

test('keeps pods with addresses, and looks again the later the longer it took', async () => {
  const path = '/api/v1/namespaces/default/pods';
  const spec = { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] };
  const status = { phase: 'Running', podIP: '10.1.0.5', podIPs: [{ ip: '10.1.0.5' }] };
  api.put(`${path}/on`, { metadata: { name: 'on', namespace: 'default' }, spec, status });
  api.put(`${path}/off`, { metadata: { name: 'off', namespace: 'default' }, spec });
  // Each look at the clock is a second later.
  let seconds = 0;
  const clock = { monotonicMs: () => 1_000 * seconds++, wallMs: () => 0 };
  const used = new UsedAddresses({ client, clock, leastMs: 1 });
  expect(used.isDue).toBe(true);
  await used.look();
  expect(used.items.pods?.map(({ name }) => name)).toEqual(['on']);
  expect(used.items.ciliumEndpoints).toBeUndefined();
  expect(used.isDue).toBe(false);
  seconds += 60;
  expect(used.isDue).toBe(true);
  used.forget();
  expect(used.items).toEqual({});
});
