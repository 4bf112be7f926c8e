import { expect } from 'vitest';
import { protobufBody } from '../../parts/protobuf-body.ts';
import { eventually } from '../../world/eventually.ts';
import type { Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMaps, crds, unique } from './objects.ts';

const type = 'application/vnd.kubernetes.protobuf';

/** Sends an object in protobuf, and again in JSON: both must become the same. */
async function sameInBoth({ call }: Server, path: string, object: Body): Promise<Body> {
  const named = (word: string) => ({
    ...object,
    metadata: { ...object.metadata, name: `${unique(word)}` },
  });
  const [inProtobuf, inJson] = [named('pb'), named('pb')];
  const bytes = protobufBody(inProtobuf);
  const one = await call('POST', path, bytes, { type });
  expect(one.status, one.body.message).toBe(201);
  const two = await call('POST', path, inJson);
  expect(two.status, two.body.message).toBe(201);
  const plain = ({ metadata, ...rest }: Body) => ({
    ...rest,
    metadata: { labels: metadata.labels, annotations: metadata.annotations },
  });
  const text = (body: Body) => JSON.stringify(plain(body)).replaceAll(body.metadata.name, 'NAME');
  const withoutUids = (body: Body) => text(body).replaceAll(body.metadata.uid, 'UID');
  expect(JSON.parse(withoutUids(one.body))).toEqual(JSON.parse(withoutUids(two.body)));
  for (const { body } of [one, two]) await call('DELETE', `${path}/${body.metadata.name}`);
  return one.body;
}

const container = {
  name: 'a',
  image: 'registry.example/a:1',
  args: ['--x'],
  ports: [{ containerPort: 80 }],
  env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
  resources: { limits: { cpu: '500m', memory: '64Mi' } },
  readinessProbe: { httpGet: { path: '/ready', port: 'web' }, periodSeconds: 5 },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
};
const template = {
  metadata: { labels: { app: 'a' } },
  spec: {
    containers: [container],
    volumes: [{ name: 'data', configMap: { name: 'a', items: [{ key: 'k', path: 'p' }] } }],
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { disk: 'ssd' },
  },
};
const selector = { matchLabels: { app: 'a' } };
const apps = '/apis/apps/v1/namespaces/default';

export const protobufCases: Cases = {
  'a Pod': async (server) => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: template.spec };
    const { spec } = await sameInBoth(server, '/api/v1/namespaces/default/pods', object);
    expect(spec.containers[0].readinessProbe).toMatchObject({
      httpGet: { path: '/ready', port: 'web', scheme: 'HTTP' },
      periodSeconds: 5,
      failureThreshold: 3,
    });
    expect(spec.volumes[0].configMap.defaultMode).toBe(420);
  },

  'a Deployment, a DaemonSet, a ReplicaSet and a StatefulSet': async (server) => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' } };
    const of = (kind: string, spec: object) => ({
      apiVersion: 'apps/v1',
      kind,
      metadata,
      spec: { selector, template, ...spec },
    });
    const rolling = {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: '10%' },
    };
    const deployment = of('Deployment', { replicas: 0, strategy: rolling });
    const { spec } = await sameInBoth(server, `${apps}/deployments`, deployment);
    expect(spec).toMatchObject({ replicas: 0, strategy: rolling });
    await sameInBoth(server, `${apps}/daemonsets`, of('DaemonSet', {}));
    await sameInBoth(server, `${apps}/replicasets`, of('ReplicaSet', { replicas: 2 }));
    await sameInBoth(server, `${apps}/statefulsets`, of('StatefulSet', { serviceName: 'a' }));
  },

  'a Job and a CronJob': async (server) => {
    const spec = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: {}, spec };
    await sameInBoth(server, '/apis/batch/v1/namespaces/default/jobs', job);
    const daily = { schedule: '0 1 * * *', jobTemplate: { spec } };
    const cron = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: {}, spec: daily };
    await sameInBoth(server, '/apis/batch/v1/namespaces/default/cronjobs', cron);
  },

  'a Node with its status': async (server) => {
    const status = {
      capacity: { cpu: '4', memory: '8Gi' },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-16T12:00:00Z' }],
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
    };
    const spec = { podCIDR: '10.1.0.0/24', taints: [{ key: 'a', effect: 'NoSchedule' }] };
    const object = { apiVersion: 'v1', kind: 'Node', metadata: {}, spec, status };
    await sameInBoth(server, '/api/v1/nodes', object);
  },

  'a Secret, a ConfigMap and an Event': async (server) => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { a: 'AP8=' } };
    await sameInBoth(server, '/api/v1/namespaces/default/secrets', secret);
    const binaryData = { b: 'AP8=' };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: 'ü' }, binaryData };
    await sameInBoth(server, configMaps, map);
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {},
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'a' },
      source: { component: 'kubelet', host: 'a' },
      firstTimestamp: '2026-11-16T12:00:00Z',
      lastTimestamp: '2026-11-16T12:00:01Z',
      count: 2,
      type: 'Normal',
      reason: 'A',
    };
    const { source } = await sameInBoth(server, '/api/v1/namespaces/default/events', event);
    expect(source).toEqual({ component: 'kubelet', host: 'a' });
  },

  'a Lease, an EndpointSlice and a NetworkPolicy': async (server) => {
    const renewTime = '2026-11-16T12:00:00.123456Z';
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {},
      spec: { holderIdentity: 'a', leaseDurationSeconds: 40, renewTime },
    };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    expect((await sameInBoth(server, leases, lease)).spec.renewTime).toBe(renewTime);
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {},
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: false } }],
      ports: [{ name: 'web', port: 80, protocol: 'TCP' }],
    };
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    expect((await sameInBoth(server, slices, slice)).endpoints[0].conditions.ready).toBe(false);
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: {},
      spec: {
        podSelector: {},
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [{ port: 'web' }] }],
      },
    };
    const policies = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
    await sameInBoth(server, policies, policy);
  },

  'a CustomResourceDefinition, with everything odd about schemas': async ({ call }) => {
    const plural = unique('pb').replaceAll('-', '');
    const object = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.pb.dev` },
      spec: {
        group: 'pb.dev',
        scope: 'Namespaced',
        names: { kind: plural, plural },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: {
                    type: 'object',
                    required: ['list'],
                    'x-kubernetes-preserve-unknown-fields': true,
                    'x-kubernetes-validations': [{ rule: 'self.size >= 0', message: 'no size' }],
                    properties: {
                      size: { type: 'integer', minimum: 0, default: 3 },
                      share: { type: 'number', maximum: 10.5 },
                      list: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
                      map: { type: 'object', additionalProperties: { type: 'string' } },
                      any: { 'x-kubernetes-int-or-string': true },
                    },
                  },
                },
              },
            },
          },
        ],
      },
    };
    const { status, body } = await call('POST', crds, protobufBody(object), { type });
    expect(status, body.message).toBe(201);
    expect(body.spec.versions[0].schema).toEqual(object.spec.versions[0]?.schema);
    const path = `/apis/pb.dev/v1/namespaces/default/${plural}`;
    await eventually(async () => expect((await call('GET', path)).status).toBe(200));
    const own = { apiVersion: 'pb.dev/v1', kind: plural, metadata: { name: 'a' } };
    const made = await call('POST', path, { ...own, spec: { list: ['a'] } });
    expect(made.body.spec).toEqual({ list: ['a'], size: 3 });
    await call('DELETE', `${crds}/${object.metadata.name}`);
  },

  'an update and a delete': async ({ call }) => {
    const name = unique('pb');
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } };
    await call('POST', configMaps, protobufBody(object), { type });
    const changed = protobufBody({ ...object, data: { a: '2' } } as typeof object);
    const { body } = await call('PUT', `${configMaps}/${name}`, changed, { type });
    expect(body.data).toEqual({ a: '2' });
    const preconditions = { uid: 'another' };
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
    const bytes = protobufBody(options, 'meta.v1.DeleteOptions');
    const refused = await call('DELETE', `${configMaps}/${name}`, bytes, { type });
    expect([refused.status, refused.body.reason]).toEqual([409, 'Conflict']);
    expect((await call('DELETE', `${configMaps}/${name}`)).status).toBe(200);
  },

  'bytes that are no protobuf of Kubernetes are refused': async ({ call }) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: unique('pb') } };
    const whole = protobufBody(object);
    const wrongKind = protobufBody({ ...object, kind: 'Secret' });
    const statuses = [];
    for (const bytes of [whole.subarray(4), whole.subarray(0, -3), wrongKind]) {
      statuses.push((await call('POST', configMaps, bytes, { type })).status);
    }
    expect(statuses).toEqual([400, 400, 400]);
  },

  'who takes nothing but protobuf gets none for a custom resource': async ({ call }) => {
    const { status } = await call('GET', '/apis/ex.dev/v1/widgets', undefined, { accept: type });
    expect(status).toBe(406);
  },
};
