/**
 * Addresses for Services of type LoadBalancer: given once, kept, asked for, given
 * back; by two leaders at once, too.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from '../parts/fault-proxy.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually } from './eventually.ts';
import { Services, servicePaths } from './services.ts';

let cluster: Cluster;
let services: Services;

beforeAll(async () => {
  cluster = await Cluster.start({
    extraArgs: ['--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112'],
  });
  services = new Services(cluster);
  await cluster.registerCrds();
}, 120_000);

afterEach(async () => {
  await cluster.stopOperators();
  await services.wipe();
  await cluster.wipe();
});
afterAll(() => cluster?.stop());

const gets = (name: string, ...ips: string[]) =>
  eventually(async () => expect(await services.ingress(name)).toEqual(ips));
const hears = (name: string, reason: string) =>
  eventually(async () => expect(await services.reason(name)).toBe(reason));

test('a Service gets the first free address, keeps it, and gives it back with its end', async () => {
  await cluster.leader(shortLease);
  await services.createPool('lb', { addresses: ['10.6.0.0-10.6.0.2'], avoidBuggyIPs: true });
  await services.create('web');
  await gets('web', '10.6.0.1');
  await hears('web', 'AddressAssigned');
  await services.create('other', { loadBalancerClass: 'example.com/others' });
  await services.create('inner', { type: 'ClusterIP' });
  await services.create('api');
  await gets('api', '10.6.0.2');
  // Made anew under its name while nobody looks: what the earlier one held is not its own.
  await cluster.stopOperators();
  await services.delete('api');
  await services.create('api', { loadBalancerIP: '10.6.0.2' });
  const mark = cluster.requests.mark();
  await cluster.leader(shortLease);
  await gets('api', '10.6.0.2');
  const writes = cluster.requests
    .ofOperators(mark)
    .map(({ verb, resource }) => `${verb} ${resource}`);
  expect(writes.filter((one) => one.endsWith('serviceaddresses'))).toEqual([
    'delete serviceaddresses',
    'create serviceaddresses',
  ]);

  await services.create('late');
  await hears('late', 'AddressesExhausted');
  await eventually(async () => {
    const events = await cluster.events();
    const about = events.filter(({ involvedObject }) => involvedObject.name === 'late');
    expect(about.map(({ reason, type }) => `${type} ${reason}`)).toEqual([
      'Warning AddressesExhausted',
    ]);
  });
  expect(await services.register()).toEqual(['10.6.0.1 web', '10.6.0.2 api']);

  // Another leader, a disabled pool: nobody loses anything.
  await cluster.stopOperators();
  await cluster.must('PATCH', `${servicePaths.pools}/lb`, { spec: { disabled: true } });
  await cluster.leader(shortLease);
  await hears('late', 'PoolDisabled');
  expect(await services.register()).toEqual(['10.6.0.1 web', '10.6.0.2 api']);
  expect(await services.ingress('web')).toEqual(['10.6.0.1']);
  await cluster.must('PATCH', `${servicePaths.pools}/lb`, { spec: { disabled: false } });
  await hears('late', 'AddressesExhausted');

  await services.delete('web');
  await gets('late', '10.6.0.1');
  await services.patch('api', { spec: { type: 'ClusterIP' } });
  await eventually(async () => {
    expect(await services.register()).toEqual(['10.6.0.1 late']);
    expect(await services.reason('api')).toBeUndefined();
    const pool = await cluster.must<{ status: object }>('GET', `${servicePaths.pools}/lb`);
    expect(pool.status).toMatchObject({ capacity: 2, assigned: 1, free: 1 });
  });
  expect(await services.ingress('other')).toEqual([]);
  expect(await services.reason('other')).toBeUndefined();
}, 60_000);

test('a Service may ask for an address, a pool, or both families', async () => {
  await cluster.leader(shortLease);
  await services.createPool('lb', { addresses: ['10.6.0.0/29', 'fd00:6::/64'] });
  await services.createPool('quiet', { addresses: ['10.7.0.0/29'], autoAssign: false });
  await services.createPool('wide', { addresses: ['10.7.0.4/30'] });
  await services.create('fixed', { loadBalancerIP: '10.6.0.3' });
  await gets('fixed', '10.6.0.3');
  await services.create(
    'thief',
    {},
    { annotations: { 'metallb.universe.tf/loadBalancerIPs': '10.6.0.3' } },
  );
  await hears('thief', 'AddressTaken');
  await services.create('outside', { loadBalancerIP: '192.0.2.1' });
  await hears('outside', 'AddressOutsidePools');
  await services.create(
    'pooled',
    {},
    { annotations: { 'cadastre.dev/load-balancer-pool': 'quiet' } },
  );
  await gets('pooled', '10.7.0.0');
  await services.create('dual', { ipFamilyPolicy: 'RequireDualStack' });
  await gets('dual', '10.6.0.0', 'fd00:6::');
  // Another wish: the old address is kept until the new one is there.
  await services.patch('fixed', { spec: { loadBalancerIP: '10.6.0.0' } });
  await hears('fixed', 'AddressTaken');
  expect(await services.ingress('fixed')).toEqual(['10.6.0.3']);
  await services.patch('fixed', { spec: { loadBalancerIP: '10.6.0.4' } });
  await gets('fixed', '10.6.0.4');
  await gets('thief', '10.6.0.3');
  await eventually(async () => {
    const wide = await cluster.must<{ status: { conditions: object[] } }>(
      'GET',
      `${servicePaths.pools}/wide`,
    );
    expect(wide.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Conflict', status: 'True', reason: 'OverlappingPools' }),
    );
  });
}, 60_000);

test('two leaders at once never give one address to two Services', async () => {
  await services.createPool('lb', { addresses: ['10.6.0.0/27'] });
  const names = Array.from({ length: 40 }, (_, at) => `s${at}`);
  await Promise.all(names.slice(0, 20).map((name) => services.create(name)));
  // Leases of different names: both lead, all the time.
  const flags = ['a', 'b'].map((name) => [`--lease-name=leader-${name}`, ...shortLease]);
  const both = await Promise.all(flags.map((one) => cluster.operator(one)));
  await Promise.all(both.map((operator) => operator.whenLeading()));
  await Promise.all(names.slice(20).map((name) => services.create(name)));
  await eventually(
    async () => {
      const shown = await Promise.all(names.map((name) => services.ingress(name)));
      const served = shown.filter((ips) => ips.length > 0);
      expect(served).toHaveLength(32);
      expect(served.every((ips) => ips.length === 1)).toBe(true);
      expect(new Set(served.flat()).size).toBe(32);
      const expected = names.flatMap((name, at) => shown[at]!.map((ip) => `${ip} ${name}`));
      expect(await services.register()).toEqual(expected.sort());
      const reasons = await Promise.all(names.map((name) => services.reason(name)));
      expect(reasons.filter((reason) => reason === 'AddressesExhausted')).toHaveLength(8);
    },
    { withinMs: 60_000 },
  );
}, 120_000);

test('answers that are lost, late or wrong cost no Service its address, and give none twice', async () => {
  const { url, ca, token } = cluster.api;
  const proxy = await startFaultProxy({
    target: { url, ca, token },
    seed: 11,
    faults: {
      conflict: 0.1,
      errorBefore: 0.05,
      closeAfterWrite: 0.15,
      errorAfterWrite: 0.1,
      dropWatch: 0.05,
      staleList: 0.2,
    },
    spare: (_, path) => path.includes('/leases'),
  });
  try {
    await services.createPool('lb', { addresses: ['10.6.0.0/29'] });
    const kubeconfigPath = cluster.kubeconfigFor(proxy.url);
    await cluster.operator(shortLease, { kubeconfigPath });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await services.create(name);
    const settled = () =>
      eventually(
        async () => {
          const shown = await Promise.all(names.map((name) => services.ingress(name)));
          expect(shown.map(({ length }) => length)).toEqual(names.map(() => 1));
          const expected = names.map((name, at) => `${shown[at]![0]} ${name}`);
          expect(await services.register()).toEqual(expected.sort());
          return shown.flat();
        },
        { withinMs: 60_000 },
      );
    const first = await settled();
    for (const name of ['b', 'd']) await services.delete(name);
    for (const name of ['b', 'd']) await services.create(name);
    const second = await settled();
    const stayed = [0, 2, 4, 5];
    expect(stayed.map((at) => second[at])).toEqual(stayed.map((at) => first[at]));
    expect(proxy.counts.closeAfterWrite + proxy.counts.errorAfterWrite).toBeGreaterThan(0);
    await cluster.stopOperators();
  } finally {
    await proxy.stop();
  }
}, 180_000);

test('pools of the ConfigMap serve, and addresses that Services show already are taken over first', async () => {
  await cluster.must('POST', '/api/v1/namespaces/kube-system/configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bgp-config', namespace: 'kube-system' },
    data: {
      'config.yaml':
        'address-pools:\n- { name: default, protocol: bgp, avoid-buggy-ips: true, addresses: [10.6.0.0/24] }\n',
    },
  });
  await services.create('young');
  await services.create('old');
  // As another implementation left it: the lowest address of all, held by the younger by name.
  await cluster.must('PATCH', `${servicePaths.services}/old/status`, {
    status: { loadBalancer: { ingress: [{ ip: '10.6.0.1' }] } },
  });
  await cluster.leader(['--bgp-config-map=kube-system/bgp-config', ...shortLease]);
  await gets('old', '10.6.0.1');
  await gets('young', '10.6.0.2');
  await cluster.must('DELETE', '/api/v1/namespaces/kube-system/configmaps/bgp-config');
  await services.patch('old', { metadata: { labels: { seen: 'again' } } });
  expect(await services.register()).toEqual(['10.6.0.1 old', '10.6.0.2 young']);
}, 60_000);
