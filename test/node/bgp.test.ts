/**
 * Native routing across a real router: BIRD learns the nodes' blocks from the
 * agents, puts them into its kernel, and packets between pods of two subnets go
 * through it. An update of the agents loses none of them; a drain takes the
 * routes back.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inside, ip, sweepNamespaces } from '../kernel/namespaces.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { Services, servicePaths } from '../world/services.ts';
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
  ipv4 {
    import filter {
      # RFC 8326, and a word about it that stays.
      if (65535, 0) ~ bgp_community then {
        print "graceful shutdown of ", net, " by ${name}";
        bgp_local_pref = 0;
      }
      accept;
    };
    ${name === 'c' ? 'export where net ~ [ 10.6.0.0/24+ ]' : 'export none'};
  };
}`;
  });
  const config = join(cluster.dir, 'bird.conf');
  writeFileSync(
    config,
    `log stderr all;
router id 10.4.94.1;
protocol device { }
protocol kernel { ipv4 { export all; }; }
${sessions.join('\n')}
`,
  );
  const control = join(cluster.dir, 'bird.ctl');
  site.startInside(site.router, 'bird', ['/usr/sbin/bird', '-f', '-c', config, '-s', control]);
  await site.addPeers();
  await site.moveIn();
  await site.startAgents('--auto-direct-node-routes', '--drain-grace=2');
  await site.addPods();
});

afterAll(async () => {
  await site?.end();
  await sweepNamespaces({ isOver: true });
  await cluster?.stop();
});

/** What the router's kernel holds by BGP of pods' blocks: `10.5.112.0/24 via 10.4.94.32`. */
async function learned(): Promise<string[]> {
  const routes = JSON.parse(await ip(`-j -n ${site.router.name} route show proto bird`));
  return (routes as Array<{ dst: string; gateway: string }>)
    .filter(({ dst }) => dst.startsWith('10.5.'))
    .map(({ dst, gateway }) => `${dst} via ${gateway}`)
    .sort();
}

/** By which nodes the router could reach a Service, whichever way it prefers. */
async function waysTo(prefix: string): Promise<string[]> {
  const birdc = `birdc -s ${join(cluster.dir, 'bird.ctl')} show route where net = ${prefix}`;
  const ways = (await inside(site.router, birdc)).matchAll(/via (\S+) on/g);
  return [...new Set([...ways].map(([, via]) => via!))].sort();
}

const everyNode = hostNames.map((name) => hosts[name].address as string).sort();

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

test('the address of a Service is announced by every node, or by those that can serve it', async () => {
  const services = new Services(cluster);
  await services.createPool('lb', { addresses: ['10.6.0.0/28'] });
  await services.create('web');
  await eventually(async () => expect(await waysTo('10.6.0.0/32')).toEqual(everyNode));

  await services.create('local', { externalTrafficPolicy: 'Local' });
  await services.putEndpoints('local', { a: false, c: true });
  await eventually(async () => expect(await waysTo('10.6.0.1/32')).toEqual([hosts.c.address]));
  await services.putEndpoints('local', { a: true, b: true, c: false });
  const both = [hosts.a.address, hosts.b.address].sort();
  await eventually(async () => expect(await waysTo('10.6.0.1/32')).toEqual(both));
  // The last one goes, and one comes back.
  await services.putEndpoints('local', { a: false, b: false });
  await eventually(async () => expect(await waysTo('10.6.0.1/32')).toEqual([]));
  await services.putEndpoints('local', { b: true });
  await eventually(async () => expect(await waysTo('10.6.0.1/32')).toEqual([hosts.b.address]));

  // What a Service merely claims to have is not announced by anybody.
  await services.create('liar', { loadBalancerClass: 'cadastre.dev/bgp' });
  await eventually(async () => expect(await waysTo('10.6.0.2/32')).toEqual(everyNode));
  await services.create('thief', { loadBalancerIP: '10.6.0.2' });
  await eventually(async () => expect(await services.reason('thief')).toBe('AddressTaken'));
  await cluster.stopOperators();
  const forged = {
    status: { loadBalancer: { ingress: [{ ip: '10.6.0.9' }, { ip: '10.6.0.1' }] } },
  };
  await cluster.must('PATCH', `${servicePaths.services}/thief/status`, forged);
  const { agent } = await eventually(async () => {
    const status = await site.agents.a.status();
    expect(status.agent.findings).toHaveLength(2);
    return status;
  });
  expect(agent.findings.map(({ reason, detail }) => `${reason}: ${detail}`)).toEqual([
    'NotOwner: 10.6.0.9/32 of Service default/thief is not announced: the register gives it to nobody',
    'NotOwner: 10.6.0.1/32 of Service default/thief is not announced: the register gives it to Service default/local',
  ]);
  expect(await waysTo('10.6.0.9/32')).toEqual([]);
  expect(await waysTo('10.6.0.1/32')).toEqual([hosts.b.address]);
  await services.delete('liar');
  await eventually(async () => expect(await waysTo('10.6.0.2/32')).toEqual([]));
});

test('the commands tell sessions, routes and addresses, on the node and from afar', async () => {
  const program = await cadastreProgram();
  const tell = async (...words: string[]) =>
    JSON.parse((await run(process.execPath, [program, ...words, '-o', 'json'])).stdout);
  const here = `--socket=${site.agents.a.socket}`;
  const afar = `--kubeconfig=${cluster.api.kubeconfigPath}`;
  const [block] = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === 'a');
  const { cidr } = block!.spec;

  const own = await tell('bgp', 'peers', here);
  const up = { localAsn: 64513, asn: 64524, state: 'Established' };
  expect(own.sessions).toMatchObject([{ node: 'a', peer: 'rack-94', ...up }]);
  expect(own.sessions[0].families[0]).toEqual({ family: 'ipv4', received: 0, advertised: 2 });
  const { routes } = await tell('bgp', 'routes', here);
  const prefixes = routes.map(({ prefix }: { prefix: string }) => prefix);
  expect(prefixes.sort()).toEqual([cidr, '10.6.0.0/32'].sort());
  expect(routes[0]).toMatchObject({ nextHop: hosts.a.address, attributes: 'AS path 64513' });
  // The reports are written at a bounded rate.
  await eventually(async () => {
    const { sessions } = await tell('bgp', 'peers', afar);
    const seen = sessions.map(({ node, state }: Record<string, string>) => `${node} ${state}`);
    expect(seen).toEqual(['a Established', 'b Established', 'c Established']);
    const all = await tell('bgp', 'routes', '10.6.0.0/32', afar);
    expect(all.routes).toHaveLength(3);
  });

  const { usage } = await tell('ipam', 'show', here);
  // The first, the last and the gateway are not for pods; one pod is there.
  expect(usage).toMatchObject([{ grouping: 'Block', cidr, total: '253', inUse: '1', node: 'a' }]);
  const whose = await tell('ipam', 'show', site.pods.a.ipv4, here);
  expect(whose).toMatchObject({ isHeld: true, attributes: { ifname: 'eth0' } });
  const flags = ['--ipam=cluster-pool', '--cluster-pool-ipv4-cidr=10.5.112.0/21', afar];
  // No operator runs: the address of the Service that ended is still registered.
  await eventually(async () =>
    expect((await tell('ipam', 'show', ...flags)).usage).toMatchObject([
      { grouping: 'IP Pool', cidr: '10.5.112.0/21', inUse: '3' },
      { grouping: 'LB Pool', cidr: '10.6.0.0/28', inUse: '3' },
    ]),
  );
});

test('an update of all agents loses no packet across the router, nor does kill -9', async () => {
  const { a, c } = site.pods;
  const register = await owned();
  const update = inside(a.namespace, `ping -i 0.05 -c 160 -W 1 ${c.ipv4}`);
  await site.startAgents('--auto-direct-node-routes', '--drain-grace=2');
  expect(await update).toContain('160 received');
  const crash = inside(a.namespace, `ping -i 0.05 -c 100 -W 1 ${c.ipv4}`);
  await site.agents.c.kill9();
  await site.agents.c.start();
  await site.agents.c.whenReason('AgentReady');
  expect(await crash).toContain('100 received');
  await eventually(async () => expect(await learned()).toEqual(register));
  expect(await waysTo('10.6.0.0/32')).toEqual(everyNode);
  expect(await waysTo('10.6.0.1/32')).toEqual([hosts.b.address]);
});

test('cadastre drain takes the routes of that node back, and only those', async () => {
  const register = await owned();
  const others = register.filter((line) => !line.endsWith(hosts.c.address));
  const drain = async (...flags: string[]) => {
    const kubeconfig = `--kubeconfig=${cluster.api.kubeconfigPath}`;
    const args = [await cadastreProgram(), 'drain', 'c', kubeconfig, ...flags];
    return (await run(process.execPath, args)).stderr;
  };
  expect(await drain()).toBe(`c is to be drained
GracefulShutdown: the routers are asked to prefer every other path
Acknowledged: by 1 of 1 router
Moved: the routers use another path to 1 of 2 prefixes
Withdrawn: by 1 of 1 router
rack-83 (10.4.83.1): everything withdrawn
`);
  expect(await learned()).toEqual(others);
  // The router was told to look elsewhere, of every prefix, while it still had the routes.
  const [ownLine] = register.filter((line) => line.endsWith(hosts.c.address));
  const words = readFileSync(join(cluster.dir, 'bird.log'), 'utf8');
  for (const prefix of [ownLine!.split(' ')[0], '10.6.0.0/32']) {
    expect(words).toContain(`graceful shutdown of ${prefix} by c`);
  }
  expect(words).not.toMatch(/graceful shutdown of \S+ by [ab]/);
  expect(await waysTo('10.6.0.0/32')).toEqual(
    everyNode.filter((address) => address !== hosts.c.address),
  );
  // Asked again it has nothing more to do, and says the same to a script.
  const args = ['drain', 'c', `--kubeconfig=${cluster.api.kubeconfigPath}`, '-o', 'json'];
  const { stdout } = await run(process.execPath, [await cadastreProgram(), ...args]);
  expect(JSON.parse(stdout)).toMatchObject({
    node: 'c',
    isDone: true,
    steps: ['Asked', 'GracefulShutdown', 'Acknowledged', 'Moved', 'Withdrawn'].map((step) => ({
      step,
    })),
    sessions: [{ peer: 'rack-83', state: 'Established', announced: [] }],
  });
  // A cordon goes on withdrawing the Services, and that is said; the pods are reached again.
  const cordon = (unschedulable: true | null) =>
    cluster.must('PATCH', '/api/v1/nodes/c', { spec: { unschedulable } });
  await cordon(true);
  const undone = await drain('--undo');
  expect(undone).toContain("c is still cordoned, and withdraws what its agent's --on-cordon says");
  expect(undone).toContain('Asked: the node is cordoned: its addresses of Services');
  await eventually(async () => expect(await learned()).toEqual(register));
  expect(await waysTo('10.6.0.0/32')).not.toContain(hosts.c.address);
  await cordon(null);
  await eventually(async () => expect(await waysTo('10.6.0.0/32')).toEqual(everyNode));
  await drain();
  // The block or the Service, whichever the agent reported first; both come back.
  expect(await drain('--undo')).toMatch(/rack-83 \(10\.4\.83\.1\): announced 10\.[56]\./);
  await eventually(async () => expect(await learned()).toEqual(register));
  await eventually(async () => expect(await waysTo('10.6.0.0/32')).toEqual(everyNode));
});
