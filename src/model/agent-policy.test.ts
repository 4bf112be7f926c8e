import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  agentPolicyBindingSpec,
  agentPolicyIdentity,
  agentPolicyName,
  agentPolicySpec,
} from './agent-policy.ts';
import {
  agentConditionType,
  driftConditionType,
  fullTaint,
  nodeConditionType,
  podAddressesConditionType,
} from './keys.ts';
import type { KubeObject } from './object.ts';

const shipped = parseAllDocuments(readFileSync('deploy/agent.yaml', 'utf8')).map(
  (document) => document.toJS() as KubeObject,
);
const named = (kind: string) => shipped.filter((one) => one.kind === kind);

test('deploy/agent.yaml ships the policy and its binding as they are compared', () => {
  const [policy, ...more] = named('ValidatingAdmissionPolicy');
  expect(more).toEqual([]);
  expect(policy).toMatchObject({ metadata: { name: agentPolicyName } });
  expect(policy?.spec).toEqual(agentPolicySpec);
  const [binding] = named('ValidatingAdmissionPolicyBinding');
  expect(binding).toMatchObject({ metadata: { name: agentPolicyName } });
  expect(binding?.spec).toEqual(agentPolicyBindingSpec);
});

test('the policy is applied before the rights that it limits', () => {
  const kinds = shipped.map(({ kind }) => kind);
  expect(kinds.indexOf('ValidatingAdmissionPolicyBinding')).toBeLessThan(
    kinds.indexOf('ClusterRole'),
  );
});

test('it knows our conditions and taint', () => {
  const own = agentPolicySpec.variables.find(({ name }) => name === 'own')!.expression;
  const keys = [
    ...[agentConditionType, podAddressesConditionType, fullTaint.key],
    ...[nodeConditionType, driftConditionType],
  ];
  expect(JSON.parse(own.replaceAll("'", '"'))).toEqual(keys);
});

test('a policy is another one after every change, and when it was made anew', () => {
  const object = (uid: string, generation: number) => ({ metadata: { uid, generation } });
  const identity = (uid: string, generation: number) =>
    agentPolicyIdentity({ policy: object(uid, generation), binding: object('b', 1) });
  const first = identity('p', 1);
  expect(first).toBe('p.1 b.1');
  expect(identity('p', 2)).not.toBe(first);
  expect(identity('q', 1)).not.toBe(first);
  expect(agentPolicyIdentity({ policy: object('p', 1), binding: undefined })).toBeUndefined();
});
