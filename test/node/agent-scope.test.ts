/**
 * Agents that leave the kernel to another program, with real namespaces, plugins and FRR: one that
 * only announces, and one that gives addresses to CNI's own reference plugins.
 */
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
import { hostNames, hosts, Site } from './site.ts';

const run = promisify(execFile);

let cluster: Cluster;
let site: Site;
let frrFolder: string;
const group = '/apis/cadastre.dev/v1alpha1';

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  cluster = await Cluster.start();
  await cluster.leader([
    '--ipam=cluster-pool',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    ...shortLease,
  ]);
  site = await Site.make(cluster);
  frrFolder = join(cluster.dir, 'frr');
  mkdirSync(frrFolder, { mode: 0o755 });
  const config = join(frrFolder, 'bgpd.conf');
  writeFileSync(
    config,
    `log stdout
router bgp 64524
 bgp router-id 10.4.94.1
 no bgp ebgp-requires-policy
 neighbor nodes peer-group
 neighbor nodes remote-as 64513
 neighbor nodes graceful-restart-helper
 bgp listen range 10.4.0.0/16 peer-group nodes
`,
  );
  const id = (what: string) => Number(execFileSync('id', [what, 'frr'], { encoding: 'utf8' }));
  for (const path of [frrFolder, config]) chownSync(path, id('-u'), id('-g'));
  execFileSync('chmod', ['o+x', cluster.dir]);
  site.startInside(site.router, 'bgpd', [
    ...['/usr/lib/frr/bgpd', '-n', '-Z', '-f', config, '-i', join(frrFolder, 'bgpd.pid')],
    ...['--vty_socket', frrFolder, '-P', '0'],
  ]);
  await site.addPeers();
  await site.moveIn();
});

afterAll(async () => {
  await site?.end();
  await sweepNamespaces({ isOver: true });
  await cluster?.stop();
});

/** What FRR holds: `10.5.112.0/24 via 10.4.94.32`. */
async function held(): Promise<string[]> {
  const { stdout: text } = await run('vtysh', [
    ...['--vty_socket', frrFolder, '-c', 'show bgp ipv4 json'],
  ]);
  const { routes = {} } = JSON.parse(text) as {
    routes?: Record<string, Array<{ nexthops: Array<{ ip: string }> }>>;
  };
  return Object.entries(routes)
    .flatMap(([prefix, paths]) => paths.map(({ nexthops }) => `${prefix} via ${nexthops[0]!.ip}`))
    .sort();
}

async function owned(): Promise<string[]> {
  const blocks = await cluster.blocks();
  return blocks
    .map(({ spec }) => `${spec.cidr} via ${hosts[spec.node!.name as 'a'].address}`)
    .sort();
}

/** Everything in the node's namespace that an agent could change. */
async function kernelOf(node: Namespace): Promise<string> {
  const asked = ['link', 'address', '-4 route show table all', '-6 route show table all', 'rule'];
  const seen = await Promise.all(asked.map((what) => ip(`-n ${node.name} -o ${what}`)));
  const nft = await inside(node, 'nft list ruleset');
  const forwarding = await inside(
    node,
    'sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding',
  );
  // The kernel's own: link-local addresses come when duplicate address detection is over.
  const lines = [...seen, nft, forwarding].join('\n').split('\n');
  return lines.filter((line) => !line.includes('fe80::') && !line.includes('ff00::')).join('\n');
}

test('FRR holds exactly the register, and no kernel was touched', async () => {
  const before = await Promise.all(hostNames.map((name) => kernelOf(site.nodes[name])));
  await site.startAgents('--announce-only');
  const register = await eventually(async () => {
    const all = await owned();
    expect(all).toHaveLength(3);
    return all;
  });
  await eventually(async () => expect(await held()).toEqual(register));
  expect(await Promise.all(hostNames.map((name) => kernelOf(site.nodes[name])))).toEqual(before);
  const { spec } = await cluster.must<{ spec: object }>('GET', `${group}/nodereports/a`);
  expect(spec).toMatchObject({ scope: 'Announcements' });
  expect(spec).not.toMatchObject({ uses: [expect.anything()] });
});

test('FRR keeps every route while an agent is restarted, or killed', async () => {
  const register = await owned();
  let lost = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const now = await held();
      lost += register.filter((route) => !now.includes(route)).length;
    }
  })();
  for (const end of ['stop', 'kill9'] as const) {
    await site.agents.a[end]();
    await site.agents.a.start();
    await site.agents.a.whenReason('AgentReady');
    await eventually(async () => {
      const { agent } = await site.agents.a.status();
      expect(agent.sessions[0]!.announced).toHaveLength(1);
    });
  }
  isOver = true;
  await watching;
  expect(lost).toBe(0);
});

test('the route of a deleted Node is withdrawn, and its agent does not say that the block is free', async () => {
  const before = (await cluster.blocks()).find(({ spec }) => spec.node?.name === 'c')!;
  await cluster.deleteNode('c');
  await eventually(async () => {
    expect(await held()).not.toContain(`${before.spec.cidr} via ${hosts.c.address}`);
  });
  const report = await cluster.must<{ spec: { fenced?: object[] } }>(
    'GET',
    `${group}/nodereports/c`,
  );
  expect(report.spec.fenced ?? []).toEqual([]);
  await cluster.createNode('c', { addresses: [hosts.c.address], labels: { rack: '83' } });
  const register = await eventually(async () => {
    const all = await owned();
    expect(all.filter((route) => route.endsWith(hosts.c.address))).toHaveLength(1);
    return all;
  });
  await eventually(async () => expect(await held()).toEqual(register), { withinMs: 60_000 });
});

test.for(['ptp', 'bridge'])(
  'addresses for %s: unique, kept over a kill, and freed by DEL',
  async (type) => {
    await site.startAgents('--wiring=false');
    const config = {
      type,
      ...(type === 'bridge' ? { bridge: 'cni0', isGateway: true } : {}),
      ipam: { type: 'cadastre', routes: [{ dst: '0.0.0.0/0' }] },
    };
    const pods: Array<{ namespace: Namespace; address: string }> = [];
    const add = async () => {
      const namespace = await addNamespace();
      const { ips } = await site.plugin('a', type, 'ADD', namespace, config);
      pods.push({ namespace, address: ips[0]!.address.split('/')[0]! });
    };
    await inside(site.nodes.a, 'sysctl -qw net.ipv4.ip_forward=1');
    await add();
    await add();
    await site.ping(pods[0]!.namespace, pods[1]!.address);
    const before = await site.agents.a.held();
    const kernel = await kernelOf(site.nodes.a);
    await site.agents.a.kill9();
    await site.agents.a.start();
    await site.agents.a.whenReason('AgentReady');
    expect(await site.agents.a.held()).toEqual(before);
    expect(await kernelOf(site.nodes.a)).toBe(kernel);
    await add();
    expect(new Set(pods.map(({ address }) => address)).size).toBe(3);
    await site.ping(pods[0]!.namespace, pods[2]!.address);
    for (const { namespace } of pods) {
      await site.plugin('a', type, 'DEL', namespace, config);
      await deleteNamespace(namespace);
    }
    expect(await site.agents.a.held()).toEqual([]);
    if (type === 'bridge') await ip(`-n ${site.nodes.a.name} link delete cni0`);
  },
);
