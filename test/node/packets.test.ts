/**
 * Packets between pods of three nodes, for real: each node is a network namespace
 * with its own agent process, two on one link, the third behind a router that
 * knows nothing of pods. `ip route get` tells which way a packet goes, a ping
 * that it arrives.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  addNamespace,
  deleteNamespace,
  inside,
  ip,
  sweepNamespaces,
} from '../kernel/namespaces.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { type HostName, hostNames, hosts, ipv6Hosts, Site } from './site.ts';

let cluster: Cluster;
let site: Site;
/** Documentation's (RFC 5737): somebody outside who is to see pods as they are. */
const seen = '198.51.100.1';

const operatorFlags = [
  '--ipam=cluster-pool',
  '--cluster-pool-ipv4-cidr=10.5.112.0/21',
  '--enable-ipv6=true',
  '--cluster-pool-ipv6-cidr=fd00:5::/48',
  '--cluster-pool-ipv6-mask-size=64',
  ...shortLease,
];

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  cluster = await Cluster.start();
  await cluster.leader(operatorFlags);
  site = await Site.make(cluster);
});

afterAll(async () => {
  await site?.end();
  await sweepNamespaces({ isOver: true });
  await cluster?.stop();
});

const wayOf = (name: HostName, address: string) => site.wayOf(site.nodes[name], address);

test('direct on one link, VXLAN across the router that knows nothing: every pod reaches every other', async () => {
  await site.startAgents('--routing=vxlan-across-subnets');
  await site.addPods();
  const { pods, nodes } = site;
  await eventually(async () => {
    expect(await wayOf('a', pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
    expect(await wayOf('a', pods.c.ipv4)).toContain('dev cad_vxlan');
    expect(await wayOf('c', pods.a.ipv4)).toContain('dev cad_vxlan');
  });
  for (const from of hostNames) {
    for (const to of hostNames) {
      if (from === to) continue;
      await site.ping(pods[from].namespace, pods[to].ipv4);
      await site.ping(pods[from].namespace, pods[to].ipv6);
      await site.ping(nodes[from], pods[to].ipv4);
      await site.ping(nodes[from], pods[to].ipv6);
    }
  }
});

test('a full packet fits through the tunnel, and the pod knows how long that is', async () => {
  const { a, c } = site.pods;
  expect(await ip(`-n ${a.namespace.name} link show eth0`)).toContain('mtu 1450');
  await inside(a.namespace, `ping -c 1 -W 5 -M do -s ${1450 - 28} ${c.ipv4}`);
});

test('an address of ours that no pod has is answered, not passed on', async () => {
  const unused = site.pods.a.ipv4.replace(/\.\d+$/, '.200');
  expect(await wayOf('a', unused).catch(String)).toContain('No route to host');
});

test('addresses for another plugin: a bridge on a node whose agent keeps routes is reached from everywhere', async () => {
  const pod = await addNamespace();
  const config = {
    type: 'bridge',
    bridge: 'br0',
    isGateway: true,
    ipam: { type: 'cadastre', families: ['ipv4'], routes: [{ dst: '0.0.0.0/0' }] },
  };
  const { ips } = await site.plugin('a', 'bridge', 'ADD', pod, config);
  const address = ips[0]!.address.split('/')[0]!;
  // Its network is the node's own block, whose rest we make unreachable.
  await site.ping(site.nodes.a, address);
  await site.ping(site.pods.c.namespace, address);
  await site.ping(pod, site.pods.b.ipv4);
  await site.plugin('a', 'bridge', 'DEL', pod, config);
  await ip(`-n ${site.nodes.a.name} link del br0`);
  await deleteNamespace(pod);
});

test('a restart of the operator, and kill -9 of it, lose no packet and change nothing', async () => {
  const { a, b, c } = site.pods;
  const before = await ip(`-n ${site.nodes.a.name} route`);
  const near = inside(a.namespace, `ping -i 0.05 -c 160 -W 1 ${b.ipv4}`);
  const far = inside(a.namespace, `ping -i 0.05 -c 160 -W 1 ${c.ipv4}`);
  await cluster.stopOperators();
  await cluster.leader(operatorFlags);
  await cluster.operators.at(-1)!.kill9();
  await cluster.leader(operatorFlags);
  expect(await near).toContain('160 received');
  expect(await far).toContain('160 received');
  expect(await ip(`-n ${site.nodes.a.name} route`)).toBe(before);
});

test('native: the tunnel goes, neighbours stay direct, and an update of the agent loses no packet', async () => {
  const { a, b, c } = site.pods;
  const stream = inside(a.namespace, `ping -i 0.05 -c 120 -W 1 ${b.ipv4}`);
  await site.startAgents('--auto-direct-node-routes', `--masquerade-except=${seen}/24`);
  expect(await stream).toContain('120 received');
  expect(await ip(`-n ${site.nodes.a.name} -br link`)).not.toContain('cad_vxlan');
  expect(await wayOf('a', b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  await site.ping(a.namespace, b.ipv4);
  await expect(inside(a.namespace, `ping -c 1 -W 1 ${c.ipv4}`)).rejects.toThrow();
});

test('masquerade: who knows no way to pods sees the node, and the pod where it is to be seen', async () => {
  const pod = site.pods.a;
  await ip(`-n ${site.router.name} addr add ${seen}/32 dev lo`);
  await site.ping(pod.namespace, '10.4.94.1');
  await expect(inside(pod.namespace, `ping -c 1 -W 1 ${seen}`)).rejects.toThrow();
  // The router had it, and did not know where to send the answer: it went to the pod's own address.
  await ip(`-n ${site.router.name} route add ${pod.ipv4} via ${hosts.a.address}`);
  await site.ping(pod.namespace, seen);
});

test('Geneve on a kernel that has none is refused at the start, by name', async ({ skip }) => {
  skip(await hasGeneve(), 'this kernel has Geneve');
  const agent = site.agentOf('a', '--routing=geneve');
  await agent.start();
  await eventually(async () => expect(agent.tail()).toContain('this kernel has no geneve'));
  await agent.stop();
});

test('what another program does to our routes is undone', async () => {
  const block = site.pods.b.ipv4.replace(/\.\d+$/, '.0/24');
  await ip(`-n ${site.nodes.a.name} route del ${block}`);
  await eventually(async () => {
    expect(await wayOf('a', site.pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  });
  await site.ping(site.pods.a.namespace, site.pods.b.ipv4);
});

test('Geneve between all nodes, on a kernel that has it: every pod reaches every other', async ({
  skip,
}) => {
  skip(!(await hasGeneve()), 'this kernel has no Geneve');
  await site.startAgents('--routing=geneve');
  const { pods } = site;
  await eventually(async () => {
    expect(await wayOf('a', pods.c.ipv4)).toContain('dev cad_geneve');
    expect(await wayOf('c', pods.a.ipv4)).toContain('dev cad_geneve');
  });
  for (const to of ['ipv4', 'ipv6'] as const) {
    await site.ping(pods.a.namespace, pods.c[to]);
    await site.ping(pods.b.namespace, pods.a[to]);
  }
});

test('nodes that speak IPv6 alone: direct where it can be, and a tunnel for both families', async () => {
  await site.moveToIpv6();
  await site.startAgents('--routing=vxlan-across-subnets');
  const { pods, nodes } = site;
  await eventually(async () => {
    expect(await wayOf('a', pods.b.ipv6)).toContain(`via ${ipv6Hosts.b.address} dev eth0`);
    expect(await wayOf('a', pods.b.ipv4)).toContain('dev cad_vxlan');
    expect(await wayOf('c', pods.a.ipv6)).toContain('dev cad_vxlan');
  });
  const tunnel = await ip(`-n ${nodes.a.name} -d link show cad_vxlan`);
  expect(tunnel).toContain(`local ${ipv6Hosts.a.address}`);
  expect(tunnel).toContain('mtu 1430');
  for (const from of hostNames) {
    for (const to of hostNames) {
      if (from === to) continue;
      await site.ping(pods[from].namespace, pods[to].ipv4);
      await site.ping(pods[from].namespace, pods[to].ipv6);
    }
  }
});

async function hasGeneve(): Promise<boolean> {
  const where = `-n ${site.router.name} link`;
  const made = await ip(`${where} add probe type geneve external`).catch(() => undefined);
  if (made !== undefined) await ip(`${where} del probe`);
  return made !== undefined;
}
