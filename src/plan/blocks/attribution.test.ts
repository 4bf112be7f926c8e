import { expect, test } from 'vitest';
import {
  block,
  blockObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
} from '../../../test/register/objects.ts';
import {
  agentPolicyAnnotation,
  agentPolicyBindingSpec,
  agentPolicySpec,
} from '../../model/agent-policy.ts';
import { readNodeReport } from '../../model/node-report.ts';
import { attributionOf, believeAll, whyUnattributed } from './attribution.ts';
import { decideBlock } from './block-life.ts';

const policy = {
  metadata: { uid: 'p', generation: 1 },
  // What the API server fills in beside what is shipped.
  spec: {
    ...agentPolicySpec,
    matchConstraints: {
      ...agentPolicySpec.matchConstraints,
      namespaceSelector: {},
      objectSelector: {},
    },
  },
};
const binding = { metadata: { uid: 'b', generation: 1 }, spec: agentPolicyBindingSpec };
const bound = attributionOf({ policy, binding });
const cidr = '10.0.0.0/24';

function reportUnder(identity: string | undefined) {
  const object = reportObject('n', { releases: [cidr] });
  const annotations = identity === undefined ? null : { [agentPolicyAnnotation]: identity };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
const why = (identity: string | undefined, attribution = bound) =>
  whyUnattributed(attribution, readNodeReport(reportUnder(identity)));

test('a report is attributed if it names the policy that is in force', () => {
  expect(bound).toEqual({ kind: 'by policy', identity: 'p.1 b.1' });
  expect(why('p.1 b.1')).toBeUndefined();
  expect(whyUnattributed(bound, undefined)).toBeUndefined();
  const earlier =
    'it was written before the policy cadastre-agent-own-node was installed or changed, or by an agent of an earlier version';
  expect(why(undefined)).toBe(earlier);
  expect(why('p.1 other.1')).toBe(earlier);
});

test('without the policy, or without its binding, none is; which one is missing is said', () => {
  const missing = (objects: Parameters<typeof attributionOf>[0]) =>
    why('p.1 b.1', attributionOf(objects));
  expect(missing({ policy: undefined, binding })).toBe(
    'the ValidatingAdmissionPolicy cadastre-agent-own-node is not installed (deploy/agent.yaml has it)',
  );
  expect(missing({ policy, binding: undefined })).toBe(
    'the ValidatingAdmissionPolicyBinding cadastre-agent-own-node is not installed (deploy/agent.yaml has it)',
  );
  const going = { ...binding.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(missing({ policy, binding: { ...binding, metadata: going } })).toContain('not installed');
});

test.each([
  ['spec.failurePolicy', { failurePolicy: 'Ignore' }],
  [
    'spec.validations.0.expression',
    { validations: [{ ...agentPolicySpec.validations[0], expression: 'true' }] },
  ],
  [
    'spec.matchConditions.1',
    { matchConditions: [...agentPolicySpec.matchConditions, { name: 'x', expression: 'false' }] },
  ],
  ['spec.paramKind', { paramKind: { kind: 'ConfigMap' } }],
])('a policy with another %s binds nobody', (place, change) => {
  const changed = { ...policy, spec: { ...policy.spec, ...change } };
  expect(attributionOf({ policy: changed, binding })).toEqual({
    kind: 'impossible',
    why: `the ValidatingAdmissionPolicy cadastre-agent-own-node is not the one of deploy/agent.yaml of this version: ${place} differs`,
  });
});

test('a binding that warns instead of refusing binds nobody', () => {
  const spec = { ...agentPolicyBindingSpec, validationActions: ['Warn'] };
  expect(attributionOf({ policy, binding: { ...binding, spec } }).kind).toBe('impossible');
});

test('a block that a live node gives back stays its own until the report can be attributed', () => {
  const pool = poolObject('pool', { cidrs: ['10.0.0.0/16'] });
  const draining = blockObject(cidr, 'n', { phase: 'Draining' });
  const step = (identity: string | undefined, attribution = bound) => {
    const register = registerOf([pool, draining, nodeObject('n'), reportUnder(identity)]);
    register.attribution = attribution;
    return decideBlock(register, block(cidr, 'n', { phase: 'Draining' }), 0, false);
  };
  expect(step('p.1 b.1').kind).toBe('cool');
  expect(step(undefined, believeAll).kind).toBe('cool');
  expect(step(undefined)).toEqual({
    kind: 'doubt',
    why: expect.stringContaining('the report of n says that it gave it back, but any agent'),
  });
});
