import { expect } from 'vitest';
import type { Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMaps, nodes, unique } from './objects.ts';

const pods = '/api/v1/namespaces/default/pods';
const apps = '/apis/apps/v1/namespaces/default';
const strategic = { type: 'application/strategic-merge-patch+json' };
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'a', image: 'registry.example/a:1' }] },
};

async function made({ call }: Server, path: string, kind: string, more: object): Promise<Body> {
  const apiVersion = path.startsWith('/api/') ? 'v1' : path.split('/').slice(2, 4).join('/');
  const object = { apiVersion, kind, metadata: { name: unique('part') }, ...more };
  const { status, body } = await call('POST', path, object);
  expect(status, body.message).toBe(201);
  return body;
}

export const subresourceCases: Cases = {
  'how many there shall be is read and written as a Scale': async (server) => {
    const { call } = server;
    const spec = { replicas: 3, selector: { matchLabels: { app: 'a' } }, template };
    for (const kind of ['Deployment', 'ReplicaSet', 'StatefulSet']) {
      const path = `${apps}/${kind.toLowerCase()}s`;
      const { metadata } = await made(server, path, kind, {
        spec: kind === 'StatefulSet' ? { ...spec, serviceName: 'a' } : spec,
      });
      const scale = `${path}/${metadata.name}/scale`;
      const { body } = await call('GET', scale);
      expect(body).toMatchObject({
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        metadata: { name: metadata.name, uid: metadata.uid },
        spec: { replicas: 3 },
        status: { replicas: 0, selector: 'app=a' },
      });
      const put = await call('PUT', scale, { ...body, spec: { replicas: 5 } });
      expect([put.status, put.body.spec.replicas]).toEqual([200, 5]);
      const patched = await call('PATCH', scale, { spec: { replicas: 0 } }, strategic);
      expect(patched.status, patched.body.message).toBe(200);
      const { body: whole } = await call('GET', `${path}/${metadata.name}`);
      expect([whole.spec.replicas, whole.metadata.generation]).toEqual([0, 3]);
      const wrong = await call('PUT', scale, { ...patched.body, spec: { replicas: -1 } });
      expect(wrong.status).toBe(422);
      const late = await call('PUT', scale, { ...body, spec: { replicas: 1 } });
      expect(late.status).toBe(409);
    }
    expect((await call('GET', `${apps}/deployments/nobody/scale`)).status).toBe(404);
  },

  'a pod is bound to a node once': async (server) => {
    const { call } = server;
    const { metadata } = await made(server, pods, 'Pod', { spec: template.spec });
    const to = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: metadata.name },
      target: { kind: 'Node', name },
    });
    const binding = `${pods}/${metadata.name}/binding`;
    const { status, body } = await call('POST', binding, to('node-a'));
    expect([status, body.status]).toEqual([201, 'Success']);
    const { body: pod } = await call('GET', `${pods}/${metadata.name}`);
    expect(pod.spec.nodeName).toBe('node-a');
    expect(pod.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'PodScheduled', status: 'True' }),
    );
    expect((await call('POST', binding, to('node-b'))).status).toBe(409);
    const bySelector = `${pods}?fieldSelector=spec.nodeName%3Dnode-a,status.phase%3DPending`;
    const { body: list } = await call('GET', bySelector);
    expect(list.items.map((item: Body) => item.metadata.name)).toContain(metadata.name);
    await call('DELETE', `${pods}/${metadata.name}?gracePeriodSeconds=0`);
  },

  'an eviction deletes a pod': async (server) => {
    const { call } = server;
    const { metadata } = await made(server, pods, 'Pod', { spec: template.spec });
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: metadata.name },
    };
    const path = `${pods}/${metadata.name}/eviction`;
    expect((await call('POST', path, eviction)).status).toBe(201);
    expect((await call('GET', `${pods}/${metadata.name}`)).status).toBe(404);
    expect((await call('POST', path, eviction)).status).toBe(404);
  },

  "a namespace's own finalizers are written apart from it": async (server) => {
    const { call } = server;
    const { metadata, ...rest } = await made(server, '/api/v1/namespaces', 'Namespace', {});
    const path = `/api/v1/namespaces/${metadata.name}`;
    const finalizers = ['kubernetes', 'ex.dev/hold'];
    const { status, body } = await call('PUT', `${path}/finalize`, {
      ...rest,
      metadata,
      spec: { finalizers },
    });
    expect([status, body.spec.finalizers]).toEqual([200, finalizers]);
    const { body: kept } = await call('PUT', path, { ...body, spec: { finalizers: [] } });
    expect(kept.spec.finalizers).toEqual(finalizers);
    expect((await call('GET', `${path}/finalize`)).status).toBe(405);
    await call('PUT', `${path}/finalize`, { ...kept, spec: { finalizers: ['kubernetes'] } });
    await call('DELETE', path);
  },

  'a signing request is approved apart from its status': async (server) => {
    const { call } = server;
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const approval = `${path}/nobody/approval`;
    expect((await call('GET', approval)).status).toBe(404);
    const { body } = await call('GET', '/apis/certificates.k8s.io/v1');
    const names = body.resources.map(({ name }: Body) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'certificatesigningrequests/approval',
        'certificatesigningrequests/status',
      ]),
    );
  },

  'a service account gets a token, and the token says whose it is': async (server) => {
    const { call } = server;
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const { metadata } = await made(server, accounts, 'ServiceAccount', {});
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const path = `${accounts}/${metadata.name}/token`;
    const { status, body } = await call('POST', path, request);
    expect(status, body.message).toBe(201);
    expect(body.spec.expirationSeconds).toBe(3600);
    const { token } = body.status;
    const apiVersion = 'authentication.k8s.io/v1';
    const reviews = `/apis/${apiVersion}/tokenreviews`;
    const asked = (given: string) =>
      call('POST', reviews, { apiVersion, kind: 'TokenReview', spec: { token: given } });
    const { body: known } = await asked(token);
    expect(known.status).toMatchObject({
      authenticated: true,
      user: { username: `system:serviceaccount:default:${metadata.name}`, uid: metadata.uid },
    });
    expect((await asked(`${token}x`)).body.status.authenticated).toBeUndefined();
    const mine = await call(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      { apiVersion, kind: 'SelfSubjectReview' },
      { token },
    );
    expect(mine.body.status.userInfo.username).toContain(metadata.name);
    const short = { ...request, spec: { expirationSeconds: 60 } };
    expect((await call('POST', path, short)).status).toBeGreaterThanOrEqual(400);
  },

  'nodes are selected by whether they take pods': async ({ call }) => {
    const [open, closed] = [unique('open'), unique('closed')];
    const node = (name: string, spec: object) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      spec,
    });
    await call('POST', nodes, node(open, {}));
    await call('POST', nodes, node(closed, { unschedulable: true }));
    const names = async (selector: string) => {
      const { body } = await call('GET', `${nodes}?fieldSelector=${encodeURIComponent(selector)}`);
      return body.items
        .map((item: Body) => item.metadata.name)
        .filter((name: string) => [open, closed].includes(name));
    };
    expect(await names('spec.unschedulable=false')).toEqual([open]);
    expect(await names('spec.unschedulable=true')).toEqual([closed]);
    expect(await names('spec.unschedulable!=true')).toEqual([open]);
    for (const name of [open, closed]) await call('DELETE', `${nodes}/${name}`);
  },

  'a field that is said twice is a warning, and to a strict client an error': async ({ call }) => {
    const name = unique('twice');
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"1","a":"2","b":"3"}}`;
    const strict = await call('POST', `${configMaps}?fieldValidation=Strict`, text);
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('strict decoding error: duplicate field "data.a"');
    const { status, body, headers } = await call('POST', configMaps, text);
    expect([status, body.data]).toEqual([201, { a: '2', b: '3' }]);
    expect(String(headers.warning)).toContain('duplicate field');
    const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n  a: "2"\n`;
    const applied = await call(
      'PATCH',
      `${configMaps}/${name}?fieldManager=a&force=true&fieldValidation=Strict`,
      yaml,
      { type: 'application/apply-patch+yaml' },
    );
    expect(applied.status).toBe(400);
    expect(applied.body.message).toContain('line 7: key "a" already set in map');
    await call('DELETE', `${configMaps}/${name}`);
  },

  'a review has no table': async ({ call }) => {
    const apiVersion = 'authorization.k8s.io/v1';
    const { status, body } = await call(
      'POST',
      `/apis/${apiVersion}/selfsubjectaccessreviews`,
      {
        apiVersion,
        kind: 'SelfSubjectAccessReview',
        spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
      },
      { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    );
    expect([status, body.reason]).toEqual([406, 'NotAcceptable']);
  },

  'what nobody says of a workload is filled in': async (server) => {
    const { call } = server;
    const spec = { selector: { matchLabels: { app: 'a' } }, template };
    const specOf = async (path: string, kind: string, given: object) => {
      const { metadata, spec: filled } = await made(server, path, kind, { spec: given });
      await call('DELETE', `${path}/${metadata.name}`);
      return filled;
    };
    expect(await specOf(`${apps}/deployments`, 'Deployment', spec)).toMatchObject({
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' },
      },
    });
    const recreated = { ...spec, strategy: { type: 'Recreate' } };
    const { strategy } = await specOf(`${apps}/deployments`, 'Deployment', recreated);
    expect(strategy).toEqual({ type: 'Recreate' });
    expect(await specOf(`${apps}/daemonsets`, 'DaemonSet', spec)).toMatchObject({
      revisionHistoryLimit: 10,
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
      },
    });
    expect(await specOf(`${apps}/statefulsets`, 'StatefulSet', spec)).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    });
    const once = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } };
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const job = await specOf(jobs, 'Job', once);
    expect(job).toMatchObject({
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
    });
    expect(Object.keys(job.selector.matchLabels)).toEqual(['batch.kubernetes.io/controller-uid']);
    const daily = { schedule: '0 1 * * *', jobTemplate: { spec: once } };
    const cron = await specOf('/apis/batch/v1/namespaces/default/cronjobs', 'CronJob', daily);
    expect(cron).toMatchObject({
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    expect(cron.jobTemplate.spec.backoffLimit).toBeUndefined();
  },

  'an autoscaler is the same in both versions': async (server) => {
    const { call } = server;
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' };
    const path = (version: string) =>
      `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
    const { metadata } = await made(server, path('v1'), 'HorizontalPodAutoscaler', {
      spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 70 },
    });
    const { body } = await call('GET', `${path('v2')}/${metadata.name}`);
    expect(body).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: {
        minReplicas: 1,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
          },
        ],
      },
    });
    const changed = { spec: { targetCPUUtilizationPercentage: 50 } };
    const patched = await call('PATCH', `${path('v1')}/${metadata.name}`, changed);
    expect(patched.body).toMatchObject({
      apiVersion: 'autoscaling/v1',
      spec: { targetCPUUtilizationPercentage: 50, maxReplicas: 5 },
    });
    await call('DELETE', `${path('v2')}/${metadata.name}`);
  },

  'data of a revision is kept as it was sent': async (server) => {
    const data = { spec: { template: { metadata: { creationTimestamp: null }, list: [] } } };
    const path = `${apps}/controllerrevisions`;
    const made1 = await made(server, path, 'ControllerRevision', { data, revision: 1 });
    expect(made1.data).toEqual(data);
    await server.call('DELETE', `${path}/${made1.metadata.name}`);
  },

  'an event is the same in both groups': async ({ call }) => {
    const name = unique('event');
    const path = '/apis/events.k8s.io/v1/namespaces/default/events';
    const { status, body } = await call('POST', path, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name },
      eventTime: '2026-11-16T12:00:00.000000Z',
      regarding: { kind: 'Pod', namespace: 'default', name: 'a' },
      note: 'words',
      reason: 'A',
      action: 'B',
      type: 'Normal',
      reportingController: 'ex.dev/a',
      reportingInstance: 'a-1',
    });
    expect(status, body.message).toBe(201);
    const core = `/api/v1/namespaces/default/events/${name}`;
    expect((await call('GET', core)).body).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { name: 'a' },
      message: 'words',
      reportingComponent: 'ex.dev/a',
    });
    const { body: later } = await call('GET', `${path}/${name}`);
    expect(later).toMatchObject({ apiVersion: 'events.k8s.io/v1', note: 'words', reason: 'A' });
    await call('DELETE', core);
    expect((await call('GET', `${path}/${name}`)).status).toBe(404);
  },
};
