import { expect, test } from 'vitest';
import { registerOf } from '../../test/register/objects.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { agentPolicyBindingSpec, agentPolicySpec } from '../model/agent-policy.ts';
import type { KubeObject } from '../model/object.ts';
import { AttributionWatch, type ReportBelief } from './attribution-watch.ts';

const installed: Record<string, KubeObject> = {
  ValidatingAdmissionPolicy: { metadata: { uid: 'p', generation: 1 }, spec: agentPolicySpec },
  ValidatingAdmissionPolicyBinding: {
    metadata: { uid: 'b', generation: 1 },
    spec: agentPolicyBindingSpec,
  },
};

function begin(belief: ReportBelief = 'attributed') {
  const register = registerOf([]);
  const world: { objects: Record<string, KubeObject>; status: number; isServed: boolean } = {
    objects: {},
    status: 404,
    isServed: true,
  };
  const said: string[] = [];
  let changes = 0;
  const say = (_: object, message: string) => said.push(message);
  const watch = new AttributionWatch({
    client: {
      get: async ({ kind }: { kind: string }) => {
        const found = world.objects[kind];
        if (found !== undefined) return found;
        throw new ApiError({ request: 'get', status: world.status });
      },
      rawGet: async () => ({
        resources: world.isServed ? [{ name: 'validatingadmissionpolicies' }] : [],
      }),
    } as unknown as KubeClient,
    clock: { wallMs: () => 0, monotonicMs: () => 0 },
    log: { debug: () => {}, info: say, warn: say, error: say } as unknown as Log,
    metrics: new Metrics(),
    register,
    belief,
    everyMs: 1_000,
    onChange: () => {
      changes += 1;
    },
  });
  const why = async () => {
    await watch.look();
    const { attribution } = register;
    return attribution.kind === 'impossible' ? attribution.why : attribution.kind;
  };
  return { register, world, said, why, changes: () => changes };
}

test('nothing is attributed before somebody has looked', () => {
  expect(begin().register.attribution.kind).toBe('impossible');
});

test('the policy comes and goes: each time it is said once, and blocks are looked at again', async () => {
  const { world, said, why, changes } = begin();
  expect(await why()).toContain('is not installed');
  expect(await why()).toContain('is not installed');
  expect([said.length, changes()]).toEqual([1, 1]);
  world.objects = installed;
  expect(await why()).toBe('by policy');
  expect(said[1]).toBe(
    'each agent is bound to its own node: what it reports about the release of its blocks is believed',
  );
  world.objects = {};
  expect(await why()).toContain('is not installed');
  expect(changes()).toBe(3);
});

test('an API server that is too old for it, and a right that is missing, are said as such', async () => {
  const { world, why } = begin();
  world.isServed = false;
  expect(await why()).toBe(
    'this API server has no ValidatingAdmissionPolicy; Kubernetes 1.30 is the first that has',
  );
  world.status = 403;
  expect(await why()).toContain('the operator may not read');
});

test('an API server that does not answer changes nothing', async () => {
  const { world, register, why } = begin();
  world.objects = installed;
  await why();
  world.objects = {};
  world.status = 503;
  await expect(why()).rejects.toThrow('503');
  expect(register.attribution.kind).toBe('by policy');
});

test('where all reports are believed the API server is not asked', async () => {
  const { said, why } = begin('all');
  expect(await why()).toBe('not asked for');
  expect(said).toEqual([]);
});
