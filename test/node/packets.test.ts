/**
 * Packets between pods of three nodes, for real: each node is a network namespace
 * with its own agent process, two on one link, the third behind a router that
 * knows nothing of pods. `ip route get` tells which way a packet goes, a ping
 * that it arrives.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inside, ip, sweepNamespaces } from '../kernel/namespaces.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { type HostName, hostNames, hosts, Site } from './site.ts';

let cluster: Cluster;
let site: Site;

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  cluster = await Cluster.start();
  await cluster.leader([
    '--ipam=cluster-pool',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    '--enable-ipv6=true',
    '--cluster-pool-ipv6-cidr=fd00:5::/48',
    '--cluster-pool-ipv6-mask-size=64',
    ...shortLease,
  ]);
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

test('a full packet fits through the tunnel', async () => {
  const { a, c } = site.pods;
  await inside(a.namespace, `ping -c 1 -W 5 -M do -s ${1430 - 28} ${c.ipv4}`);
});

test('an address of ours that no pod has is answered, not passed on', async () => {
  const unused = site.pods.a.ipv4.replace(/\.\d+$/, '.200');
  expect(await wayOf('a', unused).catch(String)).toContain('No route to host');
});

test('native: the tunnel goes, neighbours stay direct, and an update of the agent loses no packet', async () => {
  const { a, b, c } = site.pods;
  const stream = inside(a.namespace, `ping -i 0.05 -c 120 -W 1 ${b.ipv4}`);
  await site.startAgents('--auto-direct-node-routes');
  expect(await stream).toContain('120 received');
  expect(await ip(`-n ${site.nodes.a.name} -br link`)).not.toContain('cad_vxlan');
  expect(await wayOf('a', b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  await site.ping(a.namespace, b.ipv4);
  await expect(inside(a.namespace, `ping -c 1 -W 1 ${c.ipv4}`)).rejects.toThrow();
});

test('what a stranger does to our routes is undone', async () => {
  const block = site.pods.b.ipv4.replace(/\.\d+$/, '.0/24');
  await ip(`-n ${site.nodes.a.name} route del ${block}`);
  await eventually(async () => {
    expect(await wayOf('a', site.pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  });
  await site.ping(site.pods.a.namespace, site.pods.b.ipv4);
});
