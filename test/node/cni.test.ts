/**
 * The static plugin, the agent and the kernel together; and the reference
 * plugins with ours behind them for addresses.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  addNamespace,
  deleteNamespace,
  inside,
  ip,
  type Namespace,
  sweepNamespaces,
} from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { TestNode } from './test-node.ts';

let node: TestNode;
let pod: Namespace;
let place: { containerId: string; netns: string };

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  node = await TestNode.create(['10.77.0.0/24', 'fd77::/64']);
  await node.startAgent();
});
afterAll(async () => {
  await node.remove();
  await sweepNamespaces({ isOver: true });
});
beforeEach(async () => {
  pod = await addNamespace();
  place = { containerId: pod.name, netns: pod.path };
  return () => deleteNamespace(pod);
});

const ours = { cniVersion: '1.1.0', name: 'pods', type: 'cadastre' };
const links = async () =>
  (await ip(`-n ${node.namespace.name} -br link`)).match(/^cad[^\s@]+/gm) ?? [];

describe('cadastre alone', () => {
  test('ADD, traffic, CHECK, DEL, and nothing is left', async () => {
    const { exit, answer } = await node.plugin('cadastre', 'ADD', place, ours);
    expect([exit, answer.cniVersion]).toEqual([0, '1.1.0']);
    for (const { address } of answer.ips) {
      await inside(node.namespace, `ping -c 1 -W 5 ${address.split('/')[0]}`);
    }
    const gateway = answer.ips[0].gateway;
    await inside(pod, `ping -c 1 -W 5 ${gateway}`);
    const check = { ...ours, prevResult: answer };
    expect(await node.plugin('cadastre', 'CHECK', place, check)).toMatchObject({ exit: 0 });
    await ip(`-n ${pod.name} route flush table main`);
    expect(await node.plugin('cadastre', 'CHECK', place, check)).toMatchObject({
      exit: 1,
      answer: { code: 106 },
    });
    expect((await node.plugin('cadastre', 'DEL', place, ours)).exit).toBe(0);
    expect((await node.plugin('cadastre', 'DEL', place, ours)).exit).toBe(0);
    expect(await links()).toEqual([]);
    expect(await node.allocations()).toEqual([]);
  });

  test('a DEL after the namespace is gone, and the sweep where no DEL ever comes', async () => {
    await node.plugin('cadastre', 'ADD', place, ours);
    await deleteNamespace(pod);
    expect((await node.plugin('cadastre', 'DEL', place, ours)).exit).toBe(0);
    const other = await addNamespace();
    const lost = { containerId: 'lost', netns: other.path };
    expect((await node.plugin('cadastre', 'ADD', lost, ours)).exit).toBe(0);
    await deleteNamespace(other);
    await expect.poll(() => node.allocations()).toEqual([]);
    expect(await links()).toEqual([]);
  });

  test("what another program does to a pod's route or interface is put back", async () => {
    const { answer } = await node.plugin('cadastre', 'ADD', place, ours);
    const addresses: string[] = answer.ips.map((one: { address: string }) => one.address);
    const isReached = async () => {
      for (const address of addresses) {
        await inside(node.namespace, `ping -c 1 -W 1 ${address.split('/')[0]}`);
      }
    };
    await isReached();
    const [host] = await links();
    for (const what of [
      `route del ${addresses[0]}`,
      `link set ${host} down`,
      `addr del ${answer.ips[0].gateway}/32 dev ${host}`,
      `link del ${host}`,
    ]) {
      await ip(`-n ${node.namespace.name} ${what}`);
      await eventually(isReached);
      await eventually(() => inside(pod, `ping -c 1 -W 1 ${answer.ips[0].gateway}`));
    }
    expect((await node.plugin('cadastre', 'DEL', place, ours)).exit).toBe(0);
    expect(await links()).toEqual([]);
    expect(await node.allocations()).toEqual([]);
  });

  test("the node's own namespace is no pod's, in either family", async () => {
    const before = await ip(`-n ${node.namespace.name} -6 route`);
    for (const families of [['ipv4'], ['ipv6']]) {
      const host = { ...place, netns: node.namespace.path };
      const refused = await node.plugin('cadastre', 'ADD', host, { ...ours, families });
      expect(refused).toMatchObject({ exit: 1, answer: { code: 4 } });
      expect(refused.answer.msg).toContain('CNI_NETNS');
    }
    expect(await ip(`-n ${node.namespace.name} -6 route`)).toBe(before);
    expect(await node.allocations()).toEqual([]);
  });

  test('a namespace that is not there, and an interface that is', async () => {
    const nowhere = { ...place, netns: '/run/netns/nowhere' };
    const missing = await node.plugin('cadastre', 'ADD', nowhere, ours);
    expect(missing).toMatchObject({ exit: 1, answer: { code: 3 } });
    await ip(`-n ${pod.name} link add eth0 type veth peer name eth9`);
    const taken = await node.plugin('cadastre', 'ADD', place, ours);
    expect(taken).toMatchObject({ exit: 1, answer: { code: 100 } });
    expect(await links()).toEqual([]);
    expect(await node.allocations()).toEqual([]);
  });

  test('a chained plugin takes our result and gives it on', async () => {
    const versioned = { ...ours, cniVersion: '1.0.0' };
    const { answer: prevResult } = await node.plugin('cadastre', 'ADD', place, versioned);
    const tuning = { ...versioned, type: 'tuning', mac: '02:11:22:33:44:55', prevResult };
    const chained = await node.plugin('tuning', 'ADD', place, tuning);
    expect(chained).toMatchObject({ exit: 0, answer: { ips: prevResult.ips } });
    await inside(node.namespace, `ping -c 1 -W 5 ${prevResult.ips[0].address.split('/')[0]}`);
    await node.plugin('cadastre', 'DEL', place, versioned);
  });

  test('without the agent: code 11, and a DEL is remembered and done later', async () => {
    await node.plugin('cadastre', 'ADD', place, ours);
    await node.killAgent();
    expect(
      await node.plugin('cadastre', 'ADD', { ...place, containerId: 'x' }, ours),
    ).toMatchObject({ exit: 1, answer: { code: 11 } });
    expect((await node.plugin('cadastre', 'DEL', place, ours)).exit).toBe(0);
    expect(await links()).toHaveLength(1);
    await node.startAgent();
    expect(await links()).toEqual([]);
    expect(await node.allocations()).toEqual([]);
  });
});

describe('cadastre gives the addresses for', () => {
  const ipam = { type: 'cadastre', routes: [{ dst: '0.0.0.0/0' }], families: ['ipv4'] };
  const base = { cniVersion: '1.0.0', name: 'others', ipam };

  test.each<[string, object]>([
    ['ptp', {}],
    ['bridge', { bridge: 'br0', isGateway: true }],
    ['macvlan', { master: 'up0' }],
  ])('%s', async (type, more) => {
    if (type === 'macvlan') {
      await ip(`-n ${node.namespace.name} link add up0 type veth peer name up1`);
      await ip(`-n ${node.namespace.name} link set up0 up`);
    }
    const config = { ...base, type, ...more };
    const added = await node.plugin(type, 'ADD', place, config);
    expect(added, added.stderr).toMatchObject({ exit: 0 });
    const [{ address, gateway }] = added.answer.ips;
    expect(address).toMatch(/^10\.77\.0\.\d+\/24$/);
    expect(gateway).toBe('10.77.0.1');
    expect(await ip(`-n ${pod.name} -br addr show eth0`)).toContain(address);
    if (type !== 'macvlan') await inside(pod, `ping -c 1 -W 5 ${gateway}`);
    const check = { ...config, prevResult: added.answer };
    expect(await node.plugin(type, 'CHECK', place, check)).toMatchObject({ exit: 0 });
    expect(await node.allocations()).toHaveLength(1);
    expect((await node.plugin(type, 'DEL', place, config)).exit).toBe(0);
    expect(await node.allocations()).toEqual([]);
  });
});
