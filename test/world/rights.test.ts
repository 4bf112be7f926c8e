/**
 * deploy/operator.yaml grants what the operator needs: it is applied with kubectl
 * and the operator runs as its service account, with nothing else.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountOf, applyManifest, namePolicy } from './account.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { paths } from './objects.ts';
import { Services, servicePaths } from './services.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCiliumNodes();
}, 120_000);

afterAll(() => cluster?.stop());

test('the operator does all its work with the rights of deploy/operator.yaml', async () => {
  const kubeconfigPath = await accountOf(cluster, 'deploy/operator.yaml', 'cadastre-operator');
  const flags = [
    '--project=annotations,node-spec',
    '--bgp-config-map=kube-system/bgp-config',
    '--believe-reports=attributed',
  ];
  await applyManifest(cluster, 'deploy/agent.yaml');
  const operator = await cluster.operator(flags, { kubeconfigPath });
  await operator.whenLeading();

  await cluster.createPool('p', {
    cidrs: ['10.0.0.0/22'],
    blockSize: { ipv4: 24 },
    nodeSelector: { matchLabels: { rack: '1' } },
    cooldownSeconds: 0,
    releaseByTimeSeconds: 1,
  });
  await cluster.createNode('served', { labels: { rack: '1' } });
  await cluster.createNode('unserved');
  await eventually(async () => {
    const node = await cluster.node('served');
    expect(node.spec?.podCIDRs).toEqual(['10.0.0.0/24']);
    expect(node.metadata.annotations?.['network.cilium.io/ipv4-pod-cidr']).toBe('10.0.0.0/24');
    const conditions = (await cluster.node('unserved')).status?.conditions ?? [];
    expect(conditions.map(({ reason }) => reason)).toContain('NoPoolSelectsNode');
    expect((await cluster.events()).length).toBeGreaterThan(0);
    expect((await cluster.pool('p')).status?.assigned).toBe(1);
  });
  await eventually(async () => {
    const histories = await cluster.list('/apis/cadastre.dev/v1alpha1/blockhistories');
    expect(histories.length).toBeGreaterThan(0);
  });
  await eventually(async () => {
    const [report] = await cluster.list('/apis/cadastre.dev/v1alpha1/operatorreports');
    expect(report).toMatchObject({
      metadata: { name: 'cadastre' },
      spec: { mode: 'ip-pool', bgpConfigMap: { namespace: 'kube-system', name: 'bgp-config' } },
    });
  });
  // One that nobody speaks for is said to be so, and released when its agent is heard again.
  await cluster.fence('served');
  await cluster.must('PATCH', `${paths.reports}/served`, { spec: { fenced: null } });
  await namePolicy(cluster, 'served');
  const { uid } = (await cluster.blocks())[0]!.metadata;
  await cluster.deleteNode('served');
  await eventually(async () => {
    const [block] = await cluster.blocks();
    expect(block?.status?.conditions?.[0]?.reason).toBe('AwaitingWitness');
  });
  const fenced = [{ cidr: '10.0.0.0/24', uid }];
  await cluster.must('PATCH', `${paths.reports}/served`, { spec: { fenced } });
  await eventually(async () => {
    expect(await cluster.blocks()).toEqual([]);
    expect(await cluster.list(paths.reports)).toEqual([]);
  });
  // One without an agent: it may look at what is left of the node.
  await cluster.createNode('silent', { labels: { rack: '1' } });
  await eventually(async () => expect(await cluster.blocks()).toHaveLength(1));
  await cluster.deleteNode('silent');
  await eventually(async () => {
    const [block] = await cluster.blocks();
    expect(block?.spec.released?.by, JSON.stringify(block)).toBe('Time');
  });
  await cluster.must('DELETE', '/apis/cadastre.dev/v1alpha1/ippools/p');
  await eventually(async () => expect(await cluster.pools()).toEqual([]));

  const services = new Services(cluster);
  await services.createPool('lb', { addresses: ['10.6.0.0/29'] });
  await services.create('web');
  await eventually(async () => {
    expect(await services.ingress('web')).toEqual(['10.6.0.0']);
    const pool = await cluster.must<{ status: object }>('GET', `${servicePaths.pools}/lb`);
    expect(pool.status).toMatchObject({ assigned: 1 });
  });
  await services.delete('web');
  await eventually(async () => expect(await services.register()).toEqual([]));

  // Reads are not in the API server's log; the operator itself says what it may not do.
  const words = operator
    .logged(({ level }) => level === 'warn')
    .map((line) => JSON.stringify(line));
  expect(words.filter((line) => line.includes('403'))).toEqual([]);

  const refused = cluster.requests.ofOperators().filter(({ code }) => code === 403);
  expect(refused).toEqual([]);
  expect(cluster.requests.ofOperators().length).toBeGreaterThan(5);
}, 120_000);
