/**
 * The node's story, from before anything is registered to the drain: a real API
 * server, the operator and two agents as processes, each with a kernel in memory,
 * and a collector in the router's place that counts every withdrawal.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Collector } from '../../src/bgp/collector.ts';
import type { Condition } from '../../src/model/object.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { ClusterAgent } from './cluster-agent.ts';

const addresses = { n1: '10.4.94.32', n2: '10.4.94.21' } as const;
/** Where each node's session comes from, for the collector to tell them apart. */
const ends = { n1: '127.0.0.11', n2: '127.0.0.12' } as const;
type NodeName = keyof typeof addresses;
const names: readonly NodeName[] = ['n1', 'n2'];

const peers = '/apis/cadastre.dev/v1alpha1/bgppeers';
const reports = '/apis/cadastre.dev/v1alpha1/nodereports';

let cluster: Cluster;
let collector: Collector;
let agents: Record<NodeName, ClusterAgent>;
let withdrawals: string[] = [];

beforeAll(async () => {
  cluster = await Cluster.start();
  collector = new Collector({
    listen: { address: '127.0.0.2', port: 0 },
    onChange: (peer, { withdrawn }) => {
      if (withdrawn > 0) withdrawals.push(peer);
    },
  });
  await collector.listen();
  collector.setPeers(
    names.map((name) => ({
      name,
      address: ends[name],
      asn: 64513,
      localAsn: 64524,
      routerId: '10.4.94.248',
      isPassive: true,
      gracefulRestartSeconds: 60,
      idleSeconds: 0.05,
    })),
  );
  const agent = (node: NodeName) =>
    new ClusterAgent({
      node,
      dir: cluster.dir,
      kubeconfigPath: cluster.api.kubeconfigPath,
      flags: [
        '--kernel=fake',
        '--ipam=cluster-pool',
        '--auto-direct-node-routes',
        `--fake-uplink=eth0=${addresses[node]}/24`,
        '--api-grace=1',
        '--drain-grace=0.5',
      ],
    });
  agents = { n1: agent('n1'), n2: agent('n2') };
  await Promise.all(names.map((name) => agents[name].start()));
});

afterAll(async () => {
  await Promise.all(names.map((name) => agents?.[name].stop()));
  await collector?.close();
  await cluster?.stop();
});

const held = (name: NodeName) =>
  collector
    .routesOf(name)
    .map((route) => String(route.prefix))
    .sort();

async function blockOf(name: NodeName): Promise<string> {
  const own = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === name);
  expect(own).toHaveLength(1);
  return own[0]!.spec.cidr;
}

test('the agents wait for what is not there yet, and say for what', async () => {
  const waiting = await agents.n1.whenReason('WaitingForResources');
  expect(waiting.detail).toContain('nodeblocks.cadastre.dev is not registered yet');
  await expect(agents.n1.allocate('early')).rejects.toThrow('this node has no IPv4 block');
  await cluster.leader([
    '--ipam=cluster-pool',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    '--cooldown-seconds=0',
    ...shortLease,
  ]);
  await agents.n1.whenReason('WaitingForNode');
});

test('each node has exactly its block: in the kernel, at the router, for its pods', async () => {
  for (const name of names) {
    await cluster.must('POST', peers, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: `tor-${name}` },
      spec: {
        address: '127.0.0.2',
        port: collector.port,
        asn: 64524,
        localASN: 64513,
        localAddress: ends[name],
        connectRetrySeconds: 1,
        nodeSelector: { matchLabels: { node: name } },
      },
    });
    await cluster.createNode(name, { labels: { node: name }, addresses: [addresses[name]] });
  }
  for (const name of names) await agents[name].whenReason('AgentReady');
  const block = { n1: await blockOf('n1'), n2: await blockOf('n2') };
  for (const [name, other] of [
    ['n1', 'n2'],
    ['n2', 'n1'],
  ] as const) {
    await eventually(async () => {
      const { agent } = await agents[name].status();
      expect(agent.kernel.routes.toSorted()).toEqual(
        [
          `${block[other]} via ${addresses[other]} dev eth0 metric 0`,
          `unreachable ${block[name]} metric 1`,
        ].sort(),
      );
      expect(agent.sessions.map(({ peer, state }) => `${peer} ${state}`)).toEqual([
        `tor-${name} Established`,
      ]);
    });
    await eventually(() => expect(held(name)).toEqual([block[name]]));
    const address = await agents[name].allocate('default/first');
    expect(address.startsWith(block[name].replace('0/24', ''))).toBe(true);
  }
  await eventually(async () => {
    const report = await cluster.must<{ status: Record<string, unknown> }>('GET', `${reports}/n1`);
    expect(report.status).toMatchObject({
      blocks: [{ cidr: block.n1, pods: 1 }],
      kernel: { wanted: 2, held: 2, ownRoutes: [block.n1], refused: [] },
      sessions: [{ peer: 'tor-n1', state: 'Established', announced: [{ prefix: block.n1 }] }],
      conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady' }],
    });
  });
  expect(withdrawals).toEqual([]);
});

test('without the API server it goes on, even through a kill -9, and nothing is withdrawn', async () => {
  const before = { routes: held('n1'), addresses: await agents.n1.held() };
  await cluster.api.kill9();
  const second = await agents.n1.allocate('default/second');
  await agents.n1.kill9();
  await agents.n1.start();
  const memory = await agents.n1.whenReason('WorkingFromMemory');
  expect(memory.detail).toContain('working from the last known state');
  expect(await agents.n1.held()).toEqual([...before.addresses, `default/second ${second}`]);
  expect(await agents.n1.allocate('default/third')).toMatch(/^10\.5\.11/);
  await eventually(() => {
    expect(collector.peers().find(({ name }) => name === 'n1')?.state).toBe('Established');
    expect(collector.routesOf('n1').map(({ stale }) => stale)).toEqual([false]);
  });
  expect(held('n1')).toEqual(before.routes);
  expect(withdrawals).toEqual([]);
  await cluster.api.restart();
  await cluster.reconnect();
  await agents.n1.whenReason('AgentReady');
});

test('an update of the agent loses nothing and withdraws nothing', async () => {
  const before = { routes: held('n1'), addresses: await agents.n1.held() };
  expect(await agents.n1.stop()).toBe('exit 0');
  await eventually(() => {
    expect(collector.peers().find(({ name }) => name === 'n1')?.isRestarting).toBe(true);
  });
  expect(held('n1')).toEqual(before.routes);
  await agents.n1.start();
  await agents.n1.whenReason('AgentReady');
  await eventually(() => {
    expect(collector.routesOf('n1').map(({ stale }) => stale)).toEqual([false]);
  });
  expect(await agents.n1.held()).toEqual(before.addresses);
  expect(withdrawals).toEqual([]);
});

test('a drain withdraws: by the annotation, and by the signal', async () => {
  const kept = held('n2');
  await cluster.patchNode('n1', { metadata: { annotations: { 'cadastre.dev/drain': 'true' } } });
  await eventually(() => expect(held('n1')).toEqual([]));
  expect(held('n2')).toEqual(kept);
  await cluster.patchNode('n1', { metadata: { annotations: { 'cadastre.dev/drain': null } } });
  await eventually(() => expect(held('n1')).not.toEqual([]));
  withdrawals = [];
  agents.n1.signal('SIGUSR2');
  await eventually(() => expect(agents.n1.ended).toBe('exit 0'));
  expect(held('n1')).toEqual([]);
  expect(withdrawals).toEqual(['n1']);
});

test('mode kubernetes: the Node says what is missing; then the annotations, old name and new, then spec.podCIDRs', async () => {
  await cluster.createNode('k1', { addresses: ['10.4.94.41'] });
  const agent = new ClusterAgent({
    node: 'k1',
    dir: cluster.dir,
    kubeconfigPath: cluster.api.kubeconfigPath,
    flags: ['--kernel=fake', '--ipam=kubernetes', '--fake-uplink=eth0=10.4.94.41/24'],
  });
  await agent.start();
  try {
    const waiting = await agent.whenReason('NoBlockRecorded');
    expect(waiting.detail).toContain('Node.spec.podCIDRs or its annotations');
    const condition = async () => {
      const { status } = await cluster.must<{ status: { conditions?: Condition[] } }>(
        'GET',
        '/api/v1/nodes/k1',
      );
      const own = status.conditions?.find(({ type }) => type === 'CadastreAgentReady');
      return own && `${own.status} ${own.reason}`;
    };
    await eventually(async () => expect(await condition()).toBe('False NoBlockRecorded'));

    const serves = (cidr: string) =>
      eventually(async () => {
        const { lines, agent: told } = await agent.status();
        expect(lines).toEqual([`IPv4: 1/254 allocated from ${cidr}`]);
        expect(told.kernel.routes).toContain(`unreachable ${cidr} metric 1`);
      });
    const annotate = (name: string, cidr: string) =>
      cluster.patchNode('k1', { metadata: { annotations: { [name]: cidr } } });
    await annotate('io.cilium.network.ipv4-pod-cidr', '10.7.1.0/24');
    await serves('10.7.1.0/24');
    await eventually(async () => expect(await condition()).toBe('True AgentReady'));
    await annotate('network.cilium.io/ipv4-pod-cidr', '10.7.2.0/24');
    await serves('10.7.2.0/24');
    await cluster.patchNode('k1', { spec: { podCIDR: '10.7.3.0/24', podCIDRs: ['10.7.3.0/24'] } });
    await serves('10.7.3.0/24');

    // It has no router: a drain is done at once, and so is its end.
    const command = async (...words: string[]) => {
      const flag = `--kubeconfig=${cluster.api.kubeconfigPath}`;
      const program = await cadastreProgram();
      return promisify(execFile)(process.execPath, [program, 'drain', ...words, flag]);
    };
    expect((await command('k1')).stderr).toContain('Withdrawn: by 0 of 0 routers');
    expect((await command('k1', '--undo')).stderr).toContain('k1 has no BGP session');
    await expect(command('k2')).rejects.toMatchObject({
      stderr: 'cadastre: there is no Node k2\ncadastre nodes lists them.\n',
    });
  } finally {
    await agent.stop();
  }
});
