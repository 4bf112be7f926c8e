/** Addresses for Services of type LoadBalancer, beside the blocks of nodes. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { ServiceAddressObject, ServiceObject } from '../../test/world/services.ts';
import { loadBalancerPools, serviceAddresses, services } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const where = { namespace: 'default' };
const createPool = (name: string, ...addresses: string[]) =>
  bench.createOurs(loadBalancerPools, name, { addresses });

async function shown(name: string): Promise<string> {
  const { status } = await bench.client.get<ServiceObject>(services, name, where);
  const ips = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  const reason = status?.conditions?.find(({ type }) => type === 'CadastreAddressAssigned')?.reason;
  return [...ips, reason ?? ''].join(' ').trim();
}

const shows = (name: string, what: string) =>
  eventually(async () => expect(await shown(name)).toBe(what));

async function register(): Promise<string[]> {
  const held = await bench.list<ServiceAddressObject>(serviceAddresses);
  return held.map(({ spec }) => `${spec.address} ${spec.service.name}`).sort();
}

test('each gets the first free address; who comes too late waits for the one that is given back', async () => {
  const operator = await bench.leader();
  await bench.createService('early');
  await createPool('lb', '10.6.0.0-10.6.0.1');
  await shows('early', '10.6.0.0 AddressAssigned');
  await bench.createService('second');
  await shows('second', '10.6.0.1 AddressAssigned');
  await bench.createService('others', { loadBalancerClass: 'example.com/others' });
  await bench.createService('late');
  await shows('late', 'AddressesExhausted');
  expect(operator.metric('cadastre_services_unserved')).toBe(1);
  await bench.client.delete(services, 'early', where);
  await shows('late', '10.6.0.0 AddressAssigned');
  expect(await register()).toEqual(['10.6.0.0 late', '10.6.0.1 second']);
  expect(await shown('others')).toBe('');
  await eventually(async () => {
    const events = (await bench.events('late')).map(({ type, reason }) => `${type} ${reason}`);
    expect(events).toEqual(['Warning AddressesExhausted', 'Normal AddressAssigned']);
  });
});

test('the next leader takes over what Services show before it gives anything', async () => {
  await createPool('lb', '10.6.0.0/30');
  await bench.createService('web');
  const first = await bench.leader();
  await shows('web', '10.6.0.0 AddressAssigned');
  await first.stop();
  // The register of addresses is lost; what the Service shows is still in use.
  for (const { metadata } of await bench.list<ServiceAddressObject>(serviceAddresses)) {
    await bench.client.delete(serviceAddresses, metadata.name);
  }
  // It would be served first, by its name, if everybody were served alike.
  await bench.createService('another');
  await bench.leader();
  await shows('another', '10.6.0.1 AddressAssigned');
  expect(await register()).toEqual(['10.6.0.0 web', '10.6.0.1 another']);
});

test('no address is taken from the pods, the nodes or the cluster itself', async () => {
  await bench.createPool('pods', { cidrs: ['10.7.0.0/24'], blockSize: { ipv4: 25 } });
  await bench.createNode('n', { addresses: ['10.6.0.0'] });
  await bench.leader();
  await createPool('of-pods', '10.7.0.0/28');
  await createPool('of-services', '10.96.0.0/28');
  await bench.createService('web');
  await shows('web', 'NoPoolFitsService');
  await createPool('lb', '10.6.0.0/30');
  await shows('web', '10.6.0.1 AddressAssigned');
});

test('the address of a node is free for Services once the node is gone', async () => {
  await bench.createNode('n', { addresses: ['10.6.0.0'] });
  await createPool('lb', '10.6.0.0/32');
  await bench.leader();
  await bench.createService('web');
  await shows('web', 'AddressesExhausted');
  await bench.deleteNode('n');
  await shows('web', '10.6.0.0 AddressAssigned');
});

test('they are served in a mode that allocates no blocks, too', async () => {
  await createPool('lb', '10.6.0.0/30');
  bench.operator({ mode: 'kubernetes' });
  await bench.createService('web');
  await shows('web', '10.6.0.0 AddressAssigned');
});
