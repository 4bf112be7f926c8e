/**
 * Each agent is bound to its own node: the rights of deploy/agent.yaml are the same for all
 * of them, the admission policy beside them refuses what is another node's.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { apiVersion, fullTaint, outOfServiceTaint } from '../../src/model/keys.ts';
import { callApi } from '../parts/api-call.ts';
import { startControllerManager } from '../parts/controller-manager.ts';
import { applyManifest, policyPaths, tokenOf } from './account.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { paths } from './objects.ts';

const clusterRoles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

let cluster: Cluster;
let tokens: { a: string; unbound: string };

interface Checked {
  metadata: { generation: number };
  status?: object;
}

interface Refusal {
  message: string;
}

const as = (token: string) => async (method: string, path: string, body: unknown) => {
  const { url, ca } = cluster.api;
  const { status, body: answer } = await callApi<Refusal>({ url, ca, token }, method, path, body);
  return { status, message: status < 300 ? '' : answer.message };
};
/** The agent of node a. */
const agent = (method: string, path: string, body: unknown) => as(tokens.a)(method, path, body);

const report = (name: string, spec: object = {}) => ({
  apiVersion,
  kind: 'NodeReport',
  metadata: { name },
  spec: { nodeUID: 'x', ...spec },
});
const fenced = { spec: { fenced: [{ cidr: '10.0.0.0/24', uid: 'u' }] } };
const condition = (type: string) => ({
  type,
  status: 'False',
  reason: 'WaitingForBlock',
  message: 'm',
});

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.createNode('a', { addresses: ['10.4.0.1'], labels: { rack: '1' } });
  await cluster.createNode('b', { addresses: ['10.4.0.2'] });
  const conditions = [condition('Ready'), condition('MemoryPressure')];
  await cluster.must('PATCH', `${paths.nodes}/a/status`, { status: { conditions } });
  await applyManifest(cluster, 'deploy/agent.yaml');
  tokens = {
    a: await tokenOf(cluster, 'cadastre-agent', 'a'),
    unbound: await tokenOf(cluster, 'cadastre-agent'),
  };
}, 120_000);

afterAll(() => cluster?.stop());

beforeEach(async () => {
  await cluster.must('DELETE', paths.reports);
  await cluster.must('POST', paths.reports, report('b'));
  // An API server follows its policies with a little delay.
  await eventually(async () => {
    const { status } = await agent('PATCH', `${paths.reports}/b`, {
      metadata: { labels: { x: 'y' } },
    });
    expect(status).toBe(403);
  });
});

test('an agent writes its own report, and no other', async () => {
  expect(await agent('POST', paths.reports, report('a'))).toEqual({ status: 201, message: '' });
  expect(await agent('PATCH', `${paths.reports}/a`, fenced)).toEqual({ status: 200, message: '' });
  const status = { status: { agentVersion: '1' } };
  expect((await agent('PATCH', `${paths.reports}/a/status`, status)).status).toBe(200);

  const refusal = {
    status: 403,
    message: expect.stringContaining(
      'the agent of node "a" may not write NodeReport "b": it is not its own',
    ),
  };
  expect(await agent('PATCH', `${paths.reports}/b`, fenced)).toEqual(refusal);
  expect(await agent('PATCH', `${paths.reports}/b/status`, status)).toEqual(refusal);
  const anew = await agent('POST', paths.reports, report('c'));
  expect(anew).toMatchObject({ status: 403, message: expect.stringContaining('NodeReport "c"') });
});

test('a token that names no node writes nothing, and the refusal says what to do', async () => {
  const answer = await as(tokens.unbound)('POST', paths.reports, report('a'));
  expect(answer.status).toBe(403);
  expect(answer.message).toContain('the token of this agent names no node');
  expect(answer.message).toContain('--bound-object-kind Node');
});

test('of its Node an agent changes its own conditions alone', async () => {
  const path = `${paths.nodes}/a/status`;
  // Merge patches replace the list: what is there is sent again.
  const held = async () => (await cluster.node('a')).status?.conditions ?? [];
  const write = async (...conditions: object[]) =>
    agent('PATCH', path, { status: { conditions: [...(await held()), ...conditions] } });
  expect((await write(condition('CadastreAgentReady'))).status).toBe(200);
  expect((await write(condition('CadastrePodAddressesFree'))).status).toBe(200);
  const own = (await held()).filter(({ type }) => !type.startsWith('Cadastre'));
  expect((await agent('PATCH', path, { status: { conditions: own } })).status).toBe(200);

  const onlyOwn = 'an agent changes no condition and no taint of its Node but its own';
  const another = await write(condition('DiskPressure'));
  expect(another).toEqual({ status: 403, message: expect.stringContaining(onlyOwn) });
  const dropped = await agent('PATCH', path, { status: { conditions: own.slice(1) } });
  expect(dropped).toEqual({ status: 403, message: expect.stringContaining(onlyOwn) });
  const changed = own.map((one) => ({ ...one, status: 'True' }));
  expect((await agent('PATCH', path, { status: { conditions: changed } })).status).toBe(403);

  const nothingElse = {
    status: 403,
    message: expect.stringContaining('an agent changes nothing of its Node but'),
  };
  const addresses = [{ type: 'InternalIP', address: '10.0.0.9' }];
  for (const patch of [
    { status: { addresses } },
    { status: { addresses: null } },
    { status: { capacity: { pods: '1' } } },
    { metadata: { labels: { rack: '2' } } },
    { metadata: { labels: null } },
    { metadata: { annotations: { 'network.cilium.io/ipv4-pod-cidr': '10.0.0.0/24' } } },
    { metadata: { finalizers: ['example.org/x'] } },
  ]) {
    expect(await agent('PATCH', path, patch), JSON.stringify(patch)).toEqual(nothingElse);
  }
  const ofAnother = await agent('PATCH', `${paths.nodes}/b/status`, {
    status: { conditions: [condition('CadastreAgentReady')] },
  });
  expect(ofAnother.status).toBe(403);
  expect(ofAnother.message).toContain('may not write Node "b"');
});

test('with the right for --taint-when-full it changes its own taint alone', async () => {
  const rights = await cluster.must<{ rules: object[] }>('GET', `${clusterRoles}/cadastre-agent`);
  const patchNodes = { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] };
  const rules = [...rights.rules, patchNodes];
  await cluster.must('PATCH', `${clusterRoles}/cadastre-agent`, { rules });
  const path = `${paths.nodes}/a`;
  const held = async () => (await cluster.node('a')).spec?.taints ?? [];
  const taint = async (...taints: object[]) =>
    agent('PATCH', path, { spec: { taints: [...(await held()), ...taints] } });
  await cluster.patchNode('a', { spec: { taints: [{ key: 'other', effect: 'NoSchedule' }] } });

  await eventually(async () => expect((await taint(fullTaint)).status).toBe(200));
  expect((await taint({ key: outOfServiceTaint, effect: 'NoExecute' })).status).toBe(403);
  expect((await agent('PATCH', path, { spec: { taints: null } })).status).toBe(403);
  const without = (await held()).filter(({ key }) => key === 'other');
  expect((await agent('PATCH', path, { spec: { taints: without } })).status).toBe(200);
  expect((await agent('PATCH', path, { spec: { unschedulable: true } })).status).toBe(403);
  expect((await agent('PATCH', path, { spec: { podCIDRs: ['10.9.0.0/24'] } })).status).toBe(403);
  const labels = { rack: '2' };
  expect((await agent('PATCH', path, { metadata: { labels } })).status).toBe(403);
});

test('an agent writes Events about its own Node alone', async () => {
  const path = '/api/v1/namespaces/default/events';
  const event = (name: string, kind: string, about: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    involvedObject: { apiVersion: 'v1', kind, name: about },
    reason: 'Hijacked',
    type: 'Warning',
    message: 'm',
  });
  expect((await agent('POST', path, event('a.1', 'Node', 'a'))).status).toBe(201);
  expect((await agent('PATCH', `${path}/a.1`, { count: 2 })).status).toBe(200);
  expect(await agent('POST', path, event('b.1', 'Node', 'b'))).toEqual({
    status: 403,
    message: expect.stringContaining('the agent of node "a" writes Events about its own Node'),
  });
  expect((await agent('POST', path, event('a.2', 'Pod', 'a'))).status).toBe(403);
  await cluster.must('POST', path, event('b.1', 'Node', 'b'));
  expect((await agent('PATCH', `${path}/b.1`, { count: 2 })).status).toBe(403);
});

test('an agent with the identity of a kubelet is bound the same way, and kubelets to nothing else', async () => {
  const kubelet = async (method: string, path: string, body: unknown) => {
    const { exitCode, stderr } = await cluster.kubectl(
      [
        ...['--as=system:node:a', '--as-group=system:nodes', '--as-group=system:authenticated'],
        ...(method === 'POST' ? ['create', '-f', '-'] : ['patch', path, '--type=merge']),
        ...(method === 'POST' ? [] : ['-p', JSON.stringify(body)]),
      ],
      method === 'POST' ? JSON.stringify(body) : undefined,
    );
    return exitCode === 0 ? 'accepted' : stderr;
  };
  await cluster.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'kubelets' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', name: 'system:nodes', apiGroup: 'rbac.authorization.k8s.io' }],
  });
  await eventually(async () =>
    expect(await kubelet('PATCH', 'nodereport/b', fenced)).toContain(
      'the agent of node "a" may not write NodeReport "b"',
    ),
  );
  expect(await kubelet('POST', '', report('a'))).toBe('accepted');
  const labels = { 'example.org/kubelet': 'x' };
  expect(await kubelet('PATCH', 'node/a', { metadata: { labels } })).toBe('accepted');
});

test('kube-controller-manager, which checks the types of its expressions, warns of nothing', async () => {
  const controllers = ['validatingadmissionpolicy-status-controller'];
  const manager = await startControllerManager(cluster.api, {
    clusterCidrs: ['10.200.0.0/16'],
    controllers,
  });
  await eventually(async () => {
    const { metadata, status } = await cluster.must<Checked>('GET', policyPaths.policy);
    expect(status).toEqual({ observedGeneration: metadata.generation, typeChecking: {} });
  });
  await manager.stop();
});

test('people and the operator are held by RBAC alone', async () => {
  await cluster.must('PATCH', `${paths.reports}/b`, fenced);
  await cluster.patchNode('b', { metadata: { labels: { rack: '1' } } });
});
