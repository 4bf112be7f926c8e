/**
 * deploy/agent.yaml grants what the agent needs: it is applied with kubectl and
 * the agent runs as its service account, bound to its node, with nothing else. Its peers
 * come from the ConfigMap of the fifth document's form, its blocks by demand: the operator
 * believes what it gives back, because it can attribute the report.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAgent } from '../../src/agent/ask-agent.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import type { NodeReportStatus } from '../../src/model/node-report-status.ts';
import { agentAccount } from '../world/account.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { ClusterAgent } from './cluster-agent.ts';

let cluster: Cluster;
let agent: ClusterAgent | undefined;
let router: Speaker | undefined;

interface EventObject {
  involvedObject: { kind: string; name: string };
  reason: string;
  message: string;
}

beforeAll(async () => {
  cluster = await Cluster.start();
}, 120_000);

afterAll(async () => {
  await agent?.stop();
  await router?.close('restart');
  await cluster?.stop();
});

test('the agent does all its work with the rights of deploy/agent.yaml', async () => {
  await cluster.leader([
    '--ipam=cluster-pool-v2',
    '--cluster-pool-ipv4-cidr=10.5.112.0/21',
    '--cluster-pool-ipv4-mask-size=28',
    '--cooldown-seconds=0',
    '--believe-reports=attributed',
    ...shortLease,
  ]);

  const config = (peers: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'bgp-config', namespace: 'kube-system' },
    data: { 'config.yaml': `peers:\n${peers}` },
  });
  const configMaps = '/api/v1/namespaces/kube-system/configmaps';
  const peer = (address: string, label: string, port = 179) =>
    `- { peer-address: ${address}, peer-port: ${port}, peer-asn: 64524, my-asn: 64513, node-selectors: [{ match-labels: { rack: "${label}" } }] }\n`;
  const both = peer('127.0.0.94', '94') + peer('127.0.0.83', '83');
  await cluster.must('POST', configMaps, config(both));
  await cluster.createNode('n1', { labels: { rack: '83' }, addresses: ['10.4.83.7'] });
  const kubeconfigPath = await agentAccount(cluster, 'n1');
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

  // A router that reaches its block elsewhere is an Event on the Node, and in the report.
  router = new Speaker({ listen: { address: '127.0.0.85', port: 0 } });
  await router.listen();
  router.setPeers([
    {
      address: '127.0.0.1',
      asn: 64513,
      localAsn: 64524,
      routerId: '10.4.83.1',
      isPassive: true,
      nextHop: { ipv4: '10.4.83.1', ipv6: 'fd04:83::1' },
    },
  ]);
  router.set([{ prefix: '10.5.112.0/28', nextHop: '10.4.83.9' }]);
  const there = config(peer('127.0.0.85', '83', router.port));
  await cluster.must('PUT', `${configMaps}/bgp-config`, there);
  const hijacked = async () => {
    const { items } = await cluster.must<{ items: EventObject[] }>(
      'GET',
      '/api/v1/namespaces/default/events',
    );
    return items
      .filter(({ reason }) => reason === 'Hijacked')
      .map(
        ({ involvedObject, message }) =>
          `${involvedObject.kind} ${involvedObject.name}: ${message}`,
      );
  };
  await eventually(async () =>
    expect((await hijacked())[0]).toContain(
      'Node n1: router 127.0.0.85 reaches 10.5.112.0/28 by next hop 10.4.83.9;',
    ),
  );
  const reported = async () => {
    const path = '/apis/cadastre.dev/v1alpha1/nodereports/n1';
    return (await cluster.must<{ status: NodeReportStatus }>('GET', path)).status.hijacks;
  };
  await eventually(async () =>
    expect(await reported()).toMatchObject([
      { cidr: '10.5.112.0/28', nextHop: '10.4.83.9', ownNextHop: '10.4.83.7' },
    ]),
  );
  router.set([]);
  await eventually(async () => expect(await reported()).toEqual([]));

  const refused = cluster.requests.ofOperators().filter(({ code }) => code === 403);
  expect(refused).toEqual([]);
}, 120_000);
