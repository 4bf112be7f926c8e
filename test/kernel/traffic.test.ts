/**
 * Packets. Two nodes, each a namespace with its own kernel, and two pods on
 * each, over one wire: with native routes, with VXLAN and its FDB, and with VXLAN
 * whose outer header comes from the route. Both families.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { derivedMac, hostLinkName } from '../../src/kernel/link.ts';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import type { PodWiring } from '../../src/kernel/pod.ts';
import type { RouteSpec } from '../../src/kernel/route.ts';
import { a, p } from './contract.ts';
import {
  addNamespace,
  deleteNamespace,
  inside,
  ip,
  type Namespace,
  sweepNamespaces,
} from './namespaces.ts';

interface Node {
  number: 1 | 2;
  namespace: Namespace;
  kernel: NetlinkKernel;
  pods: { namespace: Namespace; wiring: PodWiring }[];
}

let nodes: [Node, Node];

beforeAll(() => sweepNamespaces({ isOver: false }));
beforeEach(async () => {
  const [one, two] = [await addNamespace(), await addNamespace()];
  await ip(`-n ${one.name} link add up0 type veth peer name up0 netns ${two.name}`);
  nodes = [await makeNode(1, one), await makeNode(2, two)];
});
afterEach(async () => {
  const left: string[] = [];
  for (const { kernel, pods } of nodes) {
    for (const pod of pods) await kernel.unwirePod(pod.wiring);
    await kernel.setRoutes([]);
    await kernel.deleteLink('cad.vxlan');
    left.push(...(await kernel.links()).map(({ name }) => name));
    const routes = await kernel.routes();
    left.push(...routes.filter(({ protocol }) => protocol > 80).map(({ prefix }) => `${prefix}`));
    kernel.close();
  }
  for (const { namespace, pods } of nodes) {
    for (const pod of pods) await deleteNamespace(pod.namespace);
    await deleteNamespace(namespace);
  }
  expect(left, 'what is left on the nodes').toEqual(['lo', 'up0', 'lo', 'up0']);
});
afterAll(async () => {
  expect(await sweepNamespaces({ isOver: true }), 'namespaces left').toEqual([]);
});

async function makeNode(number: 1 | 2, namespace: Namespace): Promise<Node> {
  const { name, path } = namespace;
  await ip(`-n ${name} addr add 10.4.0.${number}/24 dev up0`);
  await ip(`-n ${name} addr add fd04::${number}/64 dev up0 nodad`);
  // A wire that is long up: its link-local address has duplicate detection behind it.
  await ip(`-n ${name} link set up0 addrgenmode none`);
  await ip(`-n ${name} addr add fe80::a:${number}/64 dev up0 nodad`);
  await ip(`-n ${name} link set up0 up`);
  const kernel = new NetlinkKernel({ netnsPath: path });
  await kernel.writeSetting({ kind: 'forwarding', family: 'ipv4' }, 1);
  await kernel.writeSetting({ kind: 'forwarding', family: 'ipv6' }, 1);
  const pods = [];
  for (const last of [7, 8]) {
    const pod = await addNamespace();
    const wiring: PodWiring = {
      netnsPath: pod.path,
      ifName: 'eth0',
      hostIfName: hostLinkName(pod.name, 'eth0'),
      addresses: [a(`10.5.${number}.${last}`), a(`fd05:${number}::${last}`)],
      mtu: 1400,
    };
    await kernel.wirePod(wiring);
    pods.push({ namespace: pod, wiring });
  }
  return { number, namespace, kernel, pods };
}

/** One packet must come back, within five tries on a busy machine. */
async function ping(from: Namespace, to: string, size = 56): Promise<void> {
  await inside(from, `ping -n -c 1 -w 5 -s ${size} -M do ${to}`);
}

async function everybodyReachesEverybody(): Promise<void> {
  const pods = nodes.flatMap((node) => node.pods);
  await Promise.all(
    pods.flatMap(({ namespace, wiring }) =>
      pods
        .filter((other) => other.wiring !== wiring)
        .flatMap((other) => other.wiring.addresses.map((to) => ping(namespace, String(to)))),
    ),
  );
  for (const { namespace, number } of nodes) {
    await ping(namespace, `10.5.${number}.7`);
    await ping(namespace, `fd05:${number}::7`);
    const [pod] = nodes[number - 1]?.pods ?? [];
    if (!pod) throw new Error('a node without pods');
    await ping(pod.namespace, `10.4.0.${number}`);
    await ping(pod.namespace, `fd04::${number}`);
  }
}

function ownBlocks(number: number): RouteSpec[] {
  return [
    { prefix: p(`10.5.${number}.0/24`), type: 'blackhole' },
    { prefix: p(`fd05:${number}::/64`), type: 'unreachable' },
  ];
}

describe('two nodes on one wire', () => {
  test('with native routes', async () => {
    for (const { kernel, number } of nodes) {
      const other = 3 - number;
      const { refused } = await kernel.setRoutes([
        ...ownBlocks(number),
        { prefix: p(`10.5.${other}.0/24`), via: a(`10.4.0.${other}`), device: 'up0' },
        { prefix: p(`fd05:${other}::/64`), via: a(`fd04::${other}`), device: 'up0' },
      ]);
      expect(refused).toEqual([]);
    }
    await everybodyReachesEverybody();
    // The unused rest of a block goes nowhere, instead of round and round.
    const [pod] = nodes[0].pods;
    await expect(inside(pod?.namespace as Namespace, 'ping -c 1 -W 1 10.5.2.99')).rejects.toThrow();
  });

  test('with VXLAN, where the wire knows no pods', async () => {
    const macs = [1, 2].map((number) => derivedMac(`node ${number}`));
    for (const { kernel, number } of nodes) {
      const other = 3 - number;
      await kernel.createTunnel({
        kind: 'vxlan',
        name: 'cad.vxlan',
        vni: 83,
        local: a(`10.4.0.${number}`),
        mac: macs[number - 1] as string,
        mtu: 1450,
      });
      await kernel.changeLink('cad.vxlan', { isUp: true });
      const mac = macs[other - 1] as string;
      await kernel.setForwardingEntries('cad.vxlan', [{ mac, remote: a(`10.4.0.${other}`) }]);
      await kernel.setNeighbours('cad.vxlan', [
        { address: a(`10.4.0.${other}`), mac },
        { address: a(`fe80::${other}`), mac },
      ]);
      const via = { device: 'cad.vxlan', isOnLink: true };
      const { refused } = await kernel.setRoutes([
        ...ownBlocks(number),
        { prefix: p(`10.5.${other}.0/24`), via: a(`10.4.0.${other}`), ...via },
        { prefix: p(`fd05:${other}::/64`), via: a(`fe80::${other}`), ...via },
      ]);
      expect(refused).toEqual([]);
    }
    await everybodyReachesEverybody();
    const [near, far] = [nodes[0].pods[0], nodes[1].pods[0]];
    await ping(near?.namespace as Namespace, String(far?.wiring.addresses[0]), 1400 - 28);
    const way = await ip(`-n ${nodes[0].namespace.name} route get 10.5.2.7`);
    expect(way).toContain('dev cad.vxlan');
  });

  test('with VXLAN whose outer header comes from the route', async () => {
    for (const { kernel, number } of nodes) {
      const other = 3 - number;
      const [own, theirs] = [derivedMac(`node ${number}`), derivedMac(`node ${other}`)];
      await kernel.createTunnel({ kind: 'vxlan', name: 'cad.vxlan', isExternal: true, mac: own });
      await kernel.changeLink('cad.vxlan', { isUp: true });
      await kernel.setNeighbours('cad.vxlan', [
        { address: a(`10.4.0.${other}`), mac: theirs },
        { address: a(`fe80::${other}`), mac: theirs },
      ]);
      const tunnel = { vni: 83, remote: a(`10.4.0.${other}`) };
      const over = { device: 'cad.vxlan', isOnLink: true, tunnel };
      const { refused } = await kernel.setRoutes([
        ...ownBlocks(number),
        { prefix: p(`10.5.${other}.0/24`), via: a(`10.4.0.${other}`), ...over },
        { prefix: p(`fd05:${other}::/64`), via: a(`fe80::${other}`), ...over },
      ]);
      expect(refused).toEqual([]);
    }
    await everybodyReachesEverybody();
  });

  test('with masquerade: the other node sees the node, except where it should not', async () => {
    const [one, two] = nodes;
    const pod = one.pods[0]?.namespace as Namespace;
    // The other node has no way back to a pod: only what carries the node's address is answered.
    await expect(inside(pod, 'ping -c 1 -W 1 10.4.0.2')).rejects.toThrow();
    await inside(one.namespace, 'nft add table inet others');
    const sources = [p('10.5.1.0/24'), p('fd05:1::/64')];
    await one.kernel.setMasquerade({ sources, exceptions: [] });
    await ping(pod, '10.4.0.2');
    await ping(pod, 'fd04::2');
    await one.kernel.setMasquerade({ sources, exceptions: [p('10.4.0.0/24')] });
    await expect(inside(pod, 'ping -c 1 -W 1 10.4.0.2')).rejects.toThrow();
    await one.kernel.setMasquerade(undefined);
    expect(await inside(one.namespace, 'nft list tables')).toBe('table inet others\n');
    expect(await two.kernel.masquerade()).toBeUndefined();
  });

  test('a pod whose runtime switched IPv6 off gets it back with its address', async () => {
    const [node] = nodes;
    const pod = await addNamespace();
    await inside(pod, 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1');
    await inside(pod, 'sysctl -qw net.ipv6.conf.default.disable_ipv6=1');
    const wiring: PodWiring = {
      netnsPath: pod.path,
      ifName: 'eth0',
      hostIfName: 'cadsix',
      addresses: [a('10.5.1.9'), a('fd05:1::9')],
    };
    await node.kernel.wirePod(wiring);
    node.pods.push({ namespace: pod, wiring });
    expect(await node.kernel.checkPod(wiring)).toEqual({ kind: 'fine' });
    await ping(pod, 'fd05:1::7');
  });

  test('a pod is reached also if a plugin after us gives it another MAC', async () => {
    const [node] = nodes;
    const pod = node.pods[0]?.namespace as Namespace;
    await ip(`-n ${pod.name} link set eth0 address 02:00:00:00:00:99`);
    await ping(node.pods[1]?.namespace as Namespace, '10.5.1.7');
    await ping(node.pods[1]?.namespace as Namespace, 'fd05:1::7');
  });
});
