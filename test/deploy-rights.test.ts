/** deploy/operator.yaml names what it can name; the tests with a real API server run with it. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { agentPolicyName } from '../src/model/agent-policy.ts';
import { crds } from '../src/model/crds.ts';
import { operatorDefaults } from '../src/operator/operator-settings.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

const rules = parseAllDocuments(readFileSync('deploy/operator.yaml', 'utf8')).flatMap(
  (document) => (document.toJS() as { rules?: Rule[] }).rules ?? [],
);
const rulesOf = (resource: string) => rules.filter(({ resources }) => resources.includes(resource));

test('the operator may read and change its own resource definitions alone', () => {
  const [create, named, ...more] = rulesOf('customresourcedefinitions');
  expect(more).toEqual([]);
  expect(create?.verbs).toEqual(['create']);
  expect(named).toMatchObject({ verbs: ['get', 'update'] });
  expect(named?.resourceNames).toEqual(crds.map(({ metadata }) => metadata.name).sort());
});

test('of Leases it may change the one that it is elected by', () => {
  const writing = rulesOf('leases').filter(({ verbs }) => verbs.join() !== 'get');
  expect(writing).toMatchObject([
    { verbs: ['create'] },
    { verbs: ['get', 'watch', 'update'], resourceNames: [operatorDefaults.lease.name] },
  ]);
});

test('of admission policies it may read the one that binds agents to their nodes', () => {
  expect(rulesOf('validatingadmissionpolicies')).toMatchObject([
    { verbs: ['get'], resourceNames: [agentPolicyName] },
  ]);
});

test('an operator believes only attributed reports unless it is started otherwise', () => {
  expect(operatorDefaults.believeReports).toBe('attributed');
});
