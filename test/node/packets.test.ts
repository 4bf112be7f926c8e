/**
 * Packets between pods of three nodes, for real: each node is a network namespace
 * with its own agent process, two on one link, the third behind a router that
 * knows nothing of pods. `ip route get` tells which way a packet goes, a ping
 * that it arrives.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureShim } from '../../scripts/shim.mjs';
import {
  addNamespace,
  deleteNamespace,
  inside,
  ip,
  type Namespace,
  sweepNamespaces,
} from '../kernel/namespaces.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { ClusterAgent } from './cluster-agent.ts';

const run = promisify(execFile);

const hosts = {
  a: { address: '10.4.94.32', gateway: '10.4.94.1' },
  b: { address: '10.4.94.21', gateway: '10.4.94.1' },
  c: { address: '10.4.83.7', gateway: '10.4.83.1' },
} as const;
type Name = keyof typeof hosts;
const names = Object.keys(hosts) as Name[];

interface Pod {
  namespace: Namespace;
  ipv4: string;
  ipv6: string;
}

let cluster: Cluster;
let router: Namespace;
const nodes = {} as Record<Name, Namespace>;
const agents = {} as Record<Name, ClusterAgent>;
const pods = {} as Record<Name, Pod>;

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
  router = await addNamespace();
  await ip(`-n ${router.name} link add br94 type bridge`);
  await ip(`-n ${router.name} addr add 10.4.94.1/24 dev br94`);
  await ip(`-n ${router.name} link set br94 up`);
  await inside(router, 'sysctl -qw net.ipv4.ip_forward=1');
  for (const name of names) {
    const { address, gateway } = hosts[name];
    const node = await addNamespace();
    nodes[name] = node;
    await ip(`-n ${router.name} link add to-${name} type veth peer name eth0 netns ${node.name}`);
    if (name === 'c') await ip(`-n ${router.name} addr add ${gateway}/24 dev to-c`);
    else await ip(`-n ${router.name} link set to-${name} master br94`);
    await ip(`-n ${router.name} link set to-${name} up`);
    await ip(`-n ${node.name} addr add ${address}/24 dev eth0`);
    await ip(`-n ${node.name} link set eth0 up`);
    await ip(`-n ${node.name} route add default via ${gateway}`);
    await cluster.createNode(name, { addresses: [address] });
  }
});

afterAll(async () => {
  await Promise.all(names.map((name) => agents[name]?.stop()));
  for (const pod of Object.values(pods)) await deleteNamespace(pod.namespace);
  for (const node of [router, ...Object.values(nodes)]) if (node) await deleteNamespace(node);
  await sweepNamespaces({ isOver: true });
  await cluster?.stop();
});

async function startAgents(...flags: string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      await agents[name]?.stop();
      agents[name] = new ClusterAgent({
        node: name,
        dir: cluster.dir,
        kubeconfigPath: cluster.api.kubeconfigPath,
        flags: ['--ipam=cluster-pool', `--netns=${nodes[name].path}`, ...flags],
      });
      await agents[name].start();
    }),
  );
  for (const name of names) await agents[name].whenReason('AgentReady');
}

async function addPod(name: Name): Promise<Pod> {
  const namespace = await addNamespace();
  const plugin = run(ensureShim()!, [], {
    env: {
      CADASTRE_SOCKET: agents[name].socket,
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: namespace.name,
      CNI_NETNS: namespace.path,
      CNI_IFNAME: 'eth0',
      CNI_PATH: '/usr/lib/cni',
    },
  });
  plugin.child.stdin?.end(JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre' }));
  const { ips } = JSON.parse((await plugin).stdout) as { ips: Array<{ address: string }> };
  const of = (mark: string) =>
    ips.find(({ address }) => address.includes(mark))?.address.split('/')[0] ?? '';
  return { namespace, ipv4: of('.'), ipv6: of(':') };
}

const ping = (from: Namespace, address: string) => inside(from, `ping -c 1 -W 5 ${address}`);
const wayOf = (name: Name, address: string) => ip(`-n ${nodes[name].name} route get ${address}`);

test('direct on one link, VXLAN across the router that knows nothing: every pod reaches every other', async () => {
  await startAgents('--routing=vxlan-across-subnets');
  for (const name of names) pods[name] = await addPod(name);
  await eventually(async () => {
    expect(await wayOf('a', pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
    expect(await wayOf('a', pods.c.ipv4)).toContain('dev cad_vxlan');
    expect(await wayOf('c', pods.a.ipv4)).toContain('dev cad_vxlan');
  });
  for (const from of names) {
    for (const to of names) {
      if (from === to) continue;
      await ping(pods[from].namespace, pods[to].ipv4);
      await ping(pods[from].namespace, pods[to].ipv6);
      await ping(nodes[from], pods[to].ipv4);
      await ping(nodes[from], pods[to].ipv6);
    }
  }
});

test('a full packet fits through the tunnel', async () => {
  await inside(pods.a.namespace, `ping -c 1 -W 5 -M do -s ${1430 - 28} ${pods.c.ipv4}`);
});

test('an address of ours that no pod has is answered, not passed on', async () => {
  const unused = pods.a.ipv4.replace(/\.\d+$/, '.200');
  expect(await wayOf('a', unused).catch(String)).toContain('No route to host');
});

test('native: the tunnel goes, neighbours stay direct, and an update of the agent loses no packet', async () => {
  const stream = inside(pods.a.namespace, `ping -i 0.05 -c 120 -W 1 ${pods.b.ipv4}`);
  await startAgents('--auto-direct-node-routes');
  expect(await stream).toContain('120 received');
  expect(await ip(`-n ${nodes.a.name} -br link`)).not.toContain('cad_vxlan');
  expect(await wayOf('a', pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  await ping(pods.a.namespace, pods.b.ipv4);
  await expect(inside(pods.a.namespace, `ping -c 1 -W 1 ${pods.c.ipv4}`)).rejects.toThrow();
});

test('what a stranger does to our routes is undone', async () => {
  const block = pods.b.ipv4.replace(/\.\d+$/, '.0/24');
  await ip(`-n ${nodes.a.name} route del ${block}`);
  await eventually(() => ping(pods.a.namespace, pods.b.ipv4));
  expect(await wayOf('a', pods.b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
});
