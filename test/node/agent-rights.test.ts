/**
 * deploy/agent.yaml grants what the agent needs: it is applied with kubectl and
 * the agent runs as its service account, with nothing else. Its peers come from
 * the ConfigMap of the fifth document's form, its blocks by demand.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAgent } from '../../src/agent/ask-agent.ts';
import { accountOf } from '../world/account.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { ClusterAgent } from './cluster-agent.ts';

let cluster: Cluster;
let agent: ClusterAgent | undefined;

beforeAll(async () => {
  cluster = await Cluster.start();
}, 120_000);

afterAll(async () => {
  await agent?.stop();
  await cluster?.stop();
});

test('the agent does all its work with the rights of deploy/agent.yaml', async () => {
  await cluster.leader([
    '--ipam=cluster-pool-v2',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    '--cluster-pool-ipv4-mask-size=28',
    '--cooldown-seconds=0',
    ...shortLease,
  ]);
  const kubeconfigPath = await accountOf(cluster, 'deploy/agent.yaml', 'cadastre-agent');

  const config = (peers: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bgp-config', namespace: 'kube-system' },
    data: { 'config.yaml': `peers:\n${peers}` },
  });
  const configMaps = '/api/v1/namespaces/kube-system/configmaps';
  const peer = (address: string, label: string) =>
    `- { peer-address: ${address}, peer-asn: 64524, my-asn: 64513, node-selectors: [{ match-labels: { rack: "${label}" } }] }\n`;
  const both = peer('127.0.0.94', '94') + peer('127.0.0.83', '83');
  await cluster.must('POST', configMaps, config(both));
  await cluster.createNode('n1', { labels: { rack: '83' }, addresses: ['10.4.83.7'] });
  agent = new ClusterAgent({
    node: 'n1',
    dir: cluster.dir,
    kubeconfigPath,
    flags: [
      '--kernel=fake',
      '--fake-uplink=eth0=10.4.83.7/24',
      '--ipam=cluster-pool-v2',
      '--bgp-config-map=kube-system/bgp-config',
    ],
  });
  await agent.start();
  await agent.whenReason('AgentReady');
  const peers = async () => (await agent!.status()).agent.sessions.map(({ address }) => address);
  await eventually(async () => expect(await peers()).toEqual(['127.0.0.83']));

  // A configuration that cannot be understood changes nothing; a better one does.
  await cluster.must('PUT', `${configMaps}/bgp-config`, config('- { peer-adress: x }\n'));
  await eventually(() => expect(agent!.tail()).toContain('MalformedConfig'));
  expect(await peers()).toEqual(['127.0.0.83']);
  await cluster.must('PUT', `${configMaps}/bgp-config`, config(peer('127.0.0.84', '83')));
  await eventually(async () => expect(await peers()).toEqual(['127.0.0.84']));

  await eventually(async () => {
    const report = '/apis/cadastre.dev/v1alpha1/nodereports/n1';
    const { status: seen, spec } = await cluster.must<Record<string, object>>('GET', report);
    expect(seen).toMatchObject({ sessions: [{ address: '127.0.0.84' }] });
    expect(spec).toMatchObject({ agent: { machine: expect.stringMatching(/^[0-9a-f]{32}$/) } });
  });
  // By demand: more blocks before the first is full, and the empty one back.
  const blocks = async () => (await cluster.blocks()).map(({ spec }) => spec.cidr).sort();
  expect(await blocks()).toEqual(['10.5.112.0/28']);
  const made: string[] = [];
  for (let i = 0; i < 9; i++) made.push(await agent.allocate(`pod-${i}`));
  const two = ['10.5.112.0/28', '10.5.112.16/28'];
  await eventually(async () => expect(await blocks()).toEqual(two));
  await eventually(async () => {
    const { lines } = await agent!.status();
    expect(lines).toEqual([
      'IPv4: 10/14 allocated from 10.5.112.0/28',
      'IPv4: 1/14 allocated from 10.5.112.16/28',
    ]);
  });
  for (const [i, address] of made.entries()) {
    await askAgent(agent.socket, 'DELETE', `/v1/addresses/${address}?owner=pod-${i}`);
  }
  await eventually(async () => expect(await blocks()).toEqual(['10.5.112.0/28']));

  const refused = cluster.requests.ofOperators().filter(({ code }) => code === 403);
  expect(refused).toEqual([]);
}, 120_000);
