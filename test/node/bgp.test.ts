/**
 * Native routing across a real router: BIRD learns the nodes' blocks from the
 * agents, puts them into its kernel, and packets between pods of two subnets go
 * through it. An update of the agents loses none of them; a drain takes the
 * routes back.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inside, ip, sweepNamespaces } from '../kernel/namespaces.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { hostNames, hosts, Site } from './site.ts';

const run = promisify(execFile);

let cluster: Cluster;
let site: Site;

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  cluster = await Cluster.start();
  await cluster.leader([
    '--ipam=cluster-pool',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    ...shortLease,
  ]);
  site = await Site.make(cluster);
  const sessions = hostNames.map((name) => {
    const { address, gateway } = hosts[name];
    return `protocol bgp ${name} {
  local ${gateway} as 64524;
  neighbor ${address} as 64513;
  passive on;
  ipv4 { import all; export none; };
}`;
  });
  const config = join(cluster.dir, 'bird.conf');
  writeFileSync(
    config,
    `router id 10.4.94.1;
protocol device { }
protocol kernel { ipv4 { export all; }; }
${sessions.join('\n')}
`,
  );
  const control = join(cluster.dir, 'bird.ctl');
  site.startInside(site.router, 'bird', ['/usr/sbin/bird', '-f', '-c', config, '-s', control]);
  for (const rack of ['94', '83']) {
    await cluster.must('POST', '/apis/cadastre.dev/v1alpha1/bgppeers', {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: `rack-${rack}` },
      spec: {
        address: `10.4.${rack}.1`,
        asn: 64524,
        localASN: 64513,
        connectRetrySeconds: 1,
        nodeSelector: { matchLabels: { rack } },
      },
    });
  }
  await site.moveIn();
  await site.startAgents('--auto-direct-node-routes', '--drain-grace=0.2');
  await site.addPods();
});

afterAll(async () => {
  await site?.end();
  await sweepNamespaces({ isOver: true });
  await cluster?.stop();
});

/** What the router's kernel holds by BGP: `10.5.112.0/24 via 10.4.94.32`. */
async function learned(): Promise<string[]> {
  const routes = JSON.parse(await ip(`-j -n ${site.router.name} route show proto bird`));
  return (routes as Array<{ dst: string; gateway: string }>)
    .map(({ dst, gateway }) => `${dst} via ${gateway}`)
    .sort();
}

async function owned(): Promise<string[]> {
  const blocks = await cluster.blocks();
  return blocks
    .map(({ spec }) => `${spec.cidr} via ${hosts[spec.node!.name as 'a'].address}`)
    .sort();
}

test('the router holds exactly the register, and carries packets between the subnets', async () => {
  const register = await owned();
  expect(register).toHaveLength(3);
  await eventually(async () => expect(await learned()).toEqual(register));
  const { a, b, c } = site.pods;
  expect(await site.wayOf(site.router, c.ipv4)).toContain(`via ${hosts.c.address} dev to-c`);
  expect(await site.wayOf(site.nodes.a, c.ipv4)).toContain(`via ${hosts.a.gateway} dev eth0`);
  expect(await site.wayOf(site.nodes.a, b.ipv4)).toContain(`via ${hosts.b.address} dev eth0`);
  for (const [from, to] of [
    [a, c],
    [c, a],
    [b, c],
    [a, b],
  ] as const) {
    await site.ping(from.namespace, to.ipv4);
  }
});

test('an update of all agents loses no packet across the router, nor does kill -9', async () => {
  const { a, c } = site.pods;
  const register = await owned();
  const update = inside(a.namespace, `ping -i 0.05 -c 160 -W 1 ${c.ipv4}`);
  await site.startAgents('--auto-direct-node-routes', '--drain-grace=0.2');
  expect(await update).toContain('160 received');
  const crash = inside(a.namespace, `ping -i 0.05 -c 100 -W 1 ${c.ipv4}`);
  await site.agents.c.kill9();
  await site.agents.c.start();
  await site.agents.c.whenReason('AgentReady');
  expect(await crash).toContain('100 received');
  await eventually(async () => expect(await learned()).toEqual(register));
});

test('cadastre drain takes the routes of that node back, and only those', async () => {
  const register = await owned();
  const others = register.filter((line) => !line.endsWith(hosts.c.address));
  const drain = async (...flags: string[]) => {
    const kubeconfig = `--kubeconfig=${cluster.api.kubeconfigPath}`;
    const args = [await cadastreProgram(), 'drain', 'c', kubeconfig, ...flags];
    return (await run(process.execPath, args)).stderr;
  };
  expect(await drain()).toBe('c is asked to leave\nrack-83 (10.4.83.1): everything withdrawn\n');
  expect(await learned()).toEqual(others);
  expect(await drain('--undo')).toContain('rack-83 (10.4.83.1): told of 10.5.');
  await eventually(async () => expect(await learned()).toEqual(register));
});
