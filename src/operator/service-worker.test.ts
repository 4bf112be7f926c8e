import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestApi } from '../../test/parts/test-api.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { KubeClient } from '../kube/client.ts';
import { EventRecorder } from '../kube/events.ts';
import { crds } from '../model/crds.ts';
import { readLoadBalancerPool } from '../model/load-balancer-pool.ts';
import type { KubeObject } from '../model/object.ts';
import { type ClusterService, readService } from '../model/service.ts';
import {
  readServiceAddress,
  type ServiceAddress,
  serviceAddressName,
  writeServiceAddress,
} from '../model/service-address.ts';
import { parseAddress } from '../net/address.ts';
import { Register } from '../plan/blocks/register.ts';
import { ServicePoolSet } from '../plan/services/service-pools.ts';
import { ServiceAddressWriter } from './service-address-writer.ts';
import type { ServiceCaches } from './service-caches.ts';
import { ServiceWorker } from './service-worker.ts';

const addresses = '/apis/cadastre.dev/v1alpha1/serviceaddresses';
const services = '/api/v1/namespaces/default/services';

let api: TestApi;
let client: KubeClient;
beforeEach(async () => {
  api = await TestApi.start(crds);
  client = new KubeClient(api.access());
});
afterEach(async () => {
  await client.close();
  await api.stop();
});

/** A leader that knows what is there now, and from then on only what its own requests tell it. */
function leader(): ServiceWorker {
  const read = readLoadBalancerPool({
    metadata: { name: 'lb' },
    spec: { addresses: ['10.6.0.0/30'] },
  });
  const pools = new ServicePoolSet(read.kind === 'pool' ? [read.pool] : []);
  const known = new Map<string, ServiceAddress>();
  const learn = (raw: unknown) => {
    const one = readServiceAddress(raw as KubeObject);
    if (one !== undefined) known.set(one.name, one);
  };
  for (const object of api.objects(addresses)) learn(object);
  let service: ClusterService = readService(api.object(`${services}/web`) as KubeObject);
  const base = {
    client,
    log: silentLog,
    clock: systemClock,
    metrics: new Metrics(),
    register: new Register([]),
    assertLeading: () => {},
  };
  const caches = {
    isSynced: true,
    services: {
      get: () => service,
      put: (raw: unknown) => {
        service = readService(raw as KubeObject);
      },
    },
    heldBy: () => [...known.values()],
    poolSet: () => pools,
    isTaken: () => false,
  } as unknown as ServiceCaches;
  return new ServiceWorker({
    ...base,
    events: new EventRecorder({ client, component: 'test', instance: 'test' }),
    writer: new ServiceAddressWriter({
      ...base,
      store: { put: learn, remove: (name) => known.delete(name) },
    }),
    caches,
    mayAssign: () => true,
  });
}

const register = (text: string) => {
  const { uid } = api.object(`${services}/web`)!.metadata;
  const address = parseAddress(text)!;
  const body = writeServiceAddress(address, 'lb', { namespace: 'default', name: 'web', uid });
  api.put(`${addresses}/${serviceAddressName(address)}`, body);
};
const registered = () => api.objects(addresses).map(({ metadata }) => metadata.name);

test('an address is released for the wished one only if the API server still has that', async () => {
  const spec = { type: 'LoadBalancer', ports: [{ port: 80 }], loadBalancerIP: '10.6.0.3' };
  api.put(`${services}/web`, { spec });
  register('10.6.0.0');
  register('10.6.0.3');
  const late = leader();
  // Another leader released it, for a wish that was taken back since.
  api.delete(`${addresses}/10-6-0-3-32`);
  await late.reconcile('default/web');
  expect(registered()).toEqual(['10-6-0-0-32']);
  // Now it knows: the wish is granted first, and the other address goes after that.
  await late.reconcile('default/web');
  expect(registered()).toEqual(['10-6-0-3-32']);
});
