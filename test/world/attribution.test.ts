/**
 * The operator believes a report that releases a block only if it can attribute it to the
 * agent of that node: the admission policy is in force, and the report was written under it.
 * Operator and agents have the rights of deploy/ and nothing else.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  agentPolicyAnnotation,
  agentPolicyIdentity,
  agentPolicyName,
} from '../../src/model/agent-policy.ts';
import { apiVersion } from '../../src/model/keys.ts';
import { callApi } from '../parts/api-call.ts';
import { accountOf, applyManifest, policyPaths, tokenOf } from './account.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually } from './eventually.ts';
import { paths } from './objects.ts';
import type { OperatorProcess } from './operator-process.ts';

let cluster: Cluster;
let operator: OperatorProcess;
const tokens = { a: '', b: '' };

beforeAll(async () => {
  cluster = await Cluster.start();
  const kubeconfigPath = await accountOf(cluster, 'deploy/operator.yaml', 'cadastre-operator');
  await applyManifest(cluster, 'deploy/agent.yaml');
  await removePolicy();
  const flags = ['--believe-reports=attributed', ...shortLease];
  operator = await cluster.operator(flags, { kubeconfigPath });
  await operator.whenLeading();
  await cluster.createPool('p', {
    cidrs: ['10.0.0.0/22'],
    blockSize: { ipv4: 24 },
    nodeSelector: {},
    cooldownSeconds: 0,
  });
  for (const name of ['a', 'b'] as const) {
    await cluster.createNode(name);
    tokens[name] = await tokenOf(cluster, 'cadastre-agent', name);
  }
  await eventually(async () => expect(await cluster.blocks()).toHaveLength(2));
}, 120_000);

afterAll(() => cluster?.stop());

async function removePolicy(): Promise<void> {
  await cluster.must('DELETE', policyPaths.binding);
  await cluster.must('DELETE', policyPaths.policy);
}

async function write(as: 'a' | 'b', method: string, path: string, body: object) {
  const { url, ca } = cluster.api;
  const answer = await callApi<{ message?: string }>(
    { url, ca, token: tokens[as] },
    method,
    path,
    body,
  );
  return { status: answer.status, message: answer.body.message ?? '' };
}

async function blockOf(node: string) {
  return (await cluster.blocks()).find(({ spec }) => spec.node?.name === node);
}

async function whyKept(node: string): Promise<{ reason: string; message: string }> {
  const { reason = '', message = '' } = (await blockOf(node))?.status?.conditions?.[0] ?? {};
  return { reason, message };
}

test('a report that any agent could have written releases nothing, and one of its own agent does', async () => {
  const said = operator.logged(({ reason }) => reason === 'ReportNotAttributed');
  expect(said.map(({ msg }) => msg)).toEqual([
    `what agents report about the release of blocks is not believed, any of them could have written it: the ValidatingAdmissionPolicy ${agentPolicyName} is not installed (deploy/agent.yaml has it)`,
  ]);
  expect(await operator.metric('cadastre_reports_attributed')).toBe(0);

  const block = (await blockOf('b'))!;
  const nodeUID = (await cluster.node('b')).metadata.uid;
  const fenced = [{ cidr: block.spec.cidr, uid: block.metadata.uid }];
  const report = { apiVersion, kind: 'NodeReport', metadata: { name: 'b' }, spec: { nodeUID } };
  expect((await write('b', 'POST', paths.reports, report)).status).toBe(201);
  await cluster.deleteNode('b');

  // Nothing keeps the agent of another node from it yet; but it is not believed.
  const forged = { spec: { fenced } };
  expect((await write('a', 'PATCH', `${paths.reports}/b`, forged)).status).toBe(200);
  await eventually(async () => {
    const { reason, message } = await whyKept('b');
    expect(reason).toBe('ReportNotAttributed');
    expect(message).toContain(
      `the report of b says that it does not use the block, but any agent could have written it: the ValidatingAdmissionPolicy ${agentPolicyName} is not installed`,
    );
  });

  // The policy refuses it from now on; what was forged before is not believed either.
  await applyManifest(cluster, 'deploy/agent.yaml');
  await eventually(async () => {
    const { status, message } = await write('a', 'PATCH', `${paths.reports}/b`, forged);
    expect(status).toBe(403);
    expect(message).toContain('the agent of node "a" may not write NodeReport "b"');
  });
  await eventually(async () =>
    expect((await whyKept('b')).message).toContain(
      `it was written before the policy ${agentPolicyName} was installed or changed`,
    ),
  );
  expect(await operator.metric('cadastre_reports_attributed')).toBe(1);
  // Whoever else writes the object, such as the garbage collector, does not make it true.
  await cluster.must('PATCH', `${paths.reports}/b`, { metadata: { labels: { x: 'y' } } });

  const underPolicy = agentPolicyIdentity({
    policy: await cluster.must('GET', policyPaths.policy),
    binding: await cluster.must('GET', policyPaths.binding),
  });
  const metadata = { annotations: { [agentPolicyAnnotation]: underPolicy } };
  const own = await write('b', 'PATCH', `${paths.reports}/b`, { metadata, spec: { fenced } });
  expect(own).toEqual({ status: 200, message: '' });
  await eventually(async () => expect(await blockOf('b')).toBeUndefined());
  const freed = operator.logged(({ msg }) => msg.includes('is free again'));
  expect(freed.at(-1)?.msg).toContain('Fenced: b withdrew it');
  const refused = cluster.requests.ofOperators().filter(({ code }) => code === 403);
  expect(refused).toEqual([]);
}, 120_000);

test('a policy that somebody has changed binds nobody', async () => {
  await cluster.must('PATCH', policyPaths.policy, { spec: { failurePolicy: 'Ignore' } });
  const isSaid = () =>
    operator
      .logged(({ reason }) => reason === 'ReportNotAttributed')
      .some(({ msg }) => msg.endsWith('of this version: spec.failurePolicy differs'));
  await eventually(() => expect(isSaid()).toBe(true));
  expect(await operator.metric('cadastre_reports_attributed')).toBe(0);
}, 60_000);
