import { expect } from 'vitest';
import type { Cases } from './contract.ts';
import { node, nodes, unique } from './objects.ts';

const pods = '/api/v1/namespaces/default/pods';
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const csiNodes = '/apis/storage.k8s.io/v1/csinodes';
const away = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

const pod = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: unique('pod') },
  spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec },
});

export const kubeletCases: Cases = {
  'a CSINode may have no drivers yet': async ({ call }) => {
    const csiNode = (spec: object) => ({ metadata: { name: unique('node') }, spec });
    for (const spec of [{}, { drivers: null }, { drivers: [] }]) {
      const { status, body } = await call('POST', csiNodes, csiNode(spec));
      expect(status, body.message).toBe(201);
      expect(body.spec.drivers ?? []).toEqual([]);
    }
  },

  'a Lease that a node owns is renewed': async ({ call }) => {
    const name = unique('node');
    const { body: owner } = await call('POST', nodes, node(name));
    const { uid } = owner.metadata;
    const spec = { holderIdentity: name, leaseDurationSeconds: 40 };
    const made = await call('POST', leases, {
      metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
      spec: { ...spec, renewTime: '2026-01-01T00:00:00.000000Z' },
    });
    expect(made.status, made.body.message).toBe(201);
    made.body.spec.renewTime = '2026-01-01T00:00:10.000000Z';
    const renewed = await call('PUT', `${leases}/${name}`, made.body);
    expect(renewed).toMatchObject({
      status: 200,
      body: { spec: { ...spec, renewTime: '2026-01-01T00:00:10.000000Z' } },
    });
  },

  'a pod tolerates for five minutes that its node is away, unless it says for how long': async ({
    call,
  }) => {
    const tolerationsOf = async (tolerations?: object[]) =>
      (await call('POST', pods, pod(tolerations === undefined ? {} : { tolerations }))).body.spec
        .tolerations;
    const forFiveMinutes = (key: string) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    });
    expect(await tolerationsOf()).toEqual(away.map(forFiveMinutes));
    const other = { key: 'a', operator: 'Exists' };
    expect(await tolerationsOf([other])).toEqual([other, ...away.map(forFiveMinutes)]);
    const short = { ...forFiveMinutes(away[1]!), tolerationSeconds: 5 };
    expect(await tolerationsOf([short])).toEqual([short, forFiveMinutes(away[0]!)]);
    const always = { operator: 'Exists' };
    expect(await tolerationsOf([always])).toEqual([always]);
    const schedules = { key: away[0], operator: 'Exists', effect: 'NoSchedule' };
    expect(await tolerationsOf([schedules])).toEqual([schedules, ...away.map(forFiveMinutes)]);
  },

  'a delete with no grace by its uid, as a kubelet sends it, ends a pod': async ({ call }) => {
    const { body } = await call('POST', pods, pod({ nodeName: 'nowhere' }));
    const path = `${pods}/${body.metadata.name}`;
    const marked = await call('DELETE', path);
    expect(marked.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    const finish = (uid: string) =>
      call('DELETE', path, { gracePeriodSeconds: 0, preconditions: { uid } });
    expect((await finish('another')).status).toBe(409);
    expect((await finish(body.metadata.uid)).status).toBe(200);
    expect((await call('GET', path)).status).toBe(404);
  },
};
