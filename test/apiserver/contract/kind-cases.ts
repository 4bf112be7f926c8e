import { expect } from 'vitest';
import type { Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMaps, node, nodes, unique } from './objects.ts';

const refusal =
  'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid';
const first = { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] };

async function onNode({ call }: Server, spec: object = {}) {
  const name = unique('node');
  expect((await call('POST', nodes, node(name, spec))).status).toBe(201);
  return async (change: object) => {
    const { status, body } = await call('PATCH', `${nodes}/${name}`, { spec: change });
    return {
      status,
      podCIDR: body.spec?.podCIDR,
      podCIDRs: body.spec?.podCIDRs,
      message: body.message,
    };
  };
}

const services = '/api/v1/namespaces/default/services';
const service = (spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: unique('svc') },
  spec: { ports: [{ port: 80 }], ...spec },
});

export const kindCases: Cases = {
  'a Node of both families has two addresses of one type': async ({ call }) => {
    const name = unique('node');
    const addresses = [
      { type: 'InternalIP', address: '10.4.94.11' },
      { type: 'InternalIP', address: 'fd00:94::11' },
    ];
    const made = await call('POST', nodes, { ...node(name), status: { addresses } });
    expect(made.status).toBe(201);
    const { body } = await call('GET', `${nodes}/${name}`);
    expect(body.status.addresses).toEqual(addresses);
    const patched = await call('PATCH', `${nodes}/${name}/status`, {
      status: { addresses: addresses.toReversed() },
    });
    expect(patched.body.status.addresses).toEqual(addresses.toReversed());
  },

  "a Node's pod networks: a change, or taking them away, is refused": async (server) => {
    const patch = await onNode(server);
    expect(await patch(first)).toMatchObject({ status: 200, ...first });
    for (const change of [
      { podCIDR: '10.2.1.0/24', podCIDRs: ['10.2.1.0/24'] },
      { podCIDR: null, podCIDRs: null },
    ]) {
      expect(await patch(change)).toMatchObject({
        status: 422,
        message: expect.stringContaining(refusal),
      });
    }
  },

  "a Node's podCIDR: null alone is a silent nothing": async (server) => {
    const patch = await onNode(server, first);
    expect(await patch({ podCIDR: null })).toMatchObject({ status: 200, ...first });
  },

  "a Node's podCIDR wins over podCIDRs that disagree": async (server) => {
    const patch = await onNode(server);
    expect(await patch({ podCIDR: '10.2.2.0/24', podCIDRs: ['10.2.3.0/24'] })).toMatchObject({
      status: 200,
      podCIDRs: ['10.2.2.0/24'],
    });
  },

  "a Node's podCIDRs alone fill podCIDR, and the other way round": async (server) => {
    expect(await (await onNode(server))({ podCIDRs: first.podCIDRs })).toMatchObject(first);
    expect(await (await onNode(server))({ podCIDR: first.podCIDR })).toMatchObject(first);
  },

  'both families of a Node come in one write': async (server) => {
    const both = ['10.2.0.0/24', 'fd00:2::/64'];
    const late = await onNode(server, first);
    expect((await late({ podCIDRs: both })).status).toBe(422);
    const together = await onNode(server);
    expect(await together({ podCIDRs: both })).toMatchObject({ status: 200, podCIDRs: both });
  },

  'host bits, two of one family, and nonsense are refused': async (server) => {
    const patch = await onNode(server);
    expect((await patch({ podCIDRs: ['10.10.5.3/24'] })).message).toContain(
      'spec.podCIDRs[0]: Invalid value: "10.10.5.3/24": must not have bits set beyond the prefix length',
    );
    expect((await patch({ podCIDRs: ['10.2.4.0/24', '10.2.5.0/24'] })).message).toContain(
      'may specify no more than one CIDR for each IP family',
    );
    expect((await patch({ podCIDRs: ['nonsense'] })).message).toContain(
      'spec.podCIDRs[0]: Invalid value: "nonsense": must be a valid CIDR value',
    );
  },

  'a Node reborn takes another network': async ({ call }) => {
    const name = unique('node');
    await call('POST', nodes, node(name, first));
    await call('DELETE', `${nodes}/${name}`);
    const again = { podCIDR: '10.2.9.0/24', podCIDRs: ['10.2.9.0/24'] };
    expect((await call('POST', nodes, node(name, again))).body.spec).toMatchObject(again);
  },

  "a Node's status is its own: neither write touches the other": async ({ call }) => {
    const name = unique('node');
    const addresses = [{ type: 'InternalIP', address: '192.0.2.7' }];
    const { body } = await call('POST', nodes, { ...node(name), status: { addresses } });
    expect(body.status.addresses).toEqual(addresses);
    const spec = await call('PATCH', `${nodes}/${name}`, {
      spec: { unschedulable: true },
      status: { phase: 'Odd' },
    });
    expect([spec.body.spec.unschedulable, spec.body.status.phase]).toEqual([true, undefined]);
    const status = await call('PATCH', `${nodes}/${name}/status`, {
      metadata: { labels: { by: 'status' } },
      spec: { unschedulable: false },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    expect(status.body.spec.unschedulable).toBe(true);
    expect(status.body.status.conditions).toHaveLength(1);
    expect(status.body.metadata.labels.by).toBe('status');
  },

  'a namespace is active, labelled by its name, and goes with what is in it': async ({
    call,
    name: on,
  }) => {
    const name = unique('space');
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const made = await call('POST', '/api/v1/namespaces', body);
    expect(made.body).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
    const inside = `/api/v1/namespaces/${name}/configmaps`;
    await call('POST', inside, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } });
    const { body: going } = await call('DELETE', `/api/v1/namespaces/${name}`);
    expect(going.status.phase).toBe('Terminating');
    const late = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'y' } };
    expect([403, 404]).toContain((await call('POST', inside, late)).status);
    // The rest is a controller's work, which the real one leaves to another process.
    if (on === 'embedded') {
      await expect
        .poll(async () => (await call('GET', `/api/v1/namespaces/${name}`)).status, {
          timeout: 30_000,
        })
        .toBe(404);
    }
  },

  'a Service gets an address of its own, and keeps it': async ({ call }) => {
    const { status, body } = await call('POST', services, service({}));
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      type: 'ClusterIP',
      clusterIP: expect.stringMatching(/^10\.96\./),
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    });
    expect(body.spec.clusterIPs).toEqual([body.spec.clusterIP]);
    expect(body.status).toEqual({ loadBalancer: {} });
    const other = await call('POST', services, service({}));
    expect(other.body.spec.clusterIP).not.toBe(body.spec.clusterIP);
    const path = `${services}/${body.metadata.name}`;
    expect((await call('PATCH', path, { spec: { clusterIP: '10.96.77.77' } })).status).toBe(422);
    const taken = await call('POST', services, service({ clusterIP: body.spec.clusterIP }));
    expect(taken.status).toBe(422);
    expect(taken.body.message).toContain('provided IP is already allocated');
  },

  'a Service without an address, and one for a load balancer': async ({ call }) => {
    const { body: headless } = await call('POST', services, service({ clusterIP: 'None' }));
    expect(headless.spec.clusterIPs).toEqual(['None']);
    const { body } = await call('POST', services, service({ type: 'LoadBalancer' }));
    expect(body.spec.ports[0].nodePort).toBeGreaterThanOrEqual(30_000);
    expect(body.spec).toMatchObject({
      externalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: true,
    });
    const path = `${services}/${body.metadata.name}/status`;
    const ingress = [{ ip: '203.0.113.7' }];
    const { body: balanced } = await call('PATCH', path, { status: { loadBalancer: { ingress } } });
    expect(balanced.status.loadBalancer.ingress[0].ip).toBe('203.0.113.7');
    expect(balanced.spec.clusterIP).toBe(body.spec.clusterIP);
  },

  'a Service that becomes another kind gives back what only the old one had': async ({ call }) => {
    const { body } = await call('POST', services, service({ type: 'LoadBalancer' }));
    const path = `${services}/${body.metadata.name}`;
    const ingress = [{ ip: '203.0.113.8' }];
    await call('PATCH', `${path}/status`, { status: { loadBalancer: { ingress } } });
    const { body: plain } = await call('PATCH', path, { spec: { type: 'ClusterIP' } });
    expect(plain.spec.ports).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
    expect(plain.spec.externalTrafficPolicy).toBeUndefined();
    expect(plain.spec.allocateLoadBalancerNodePorts).toBeUndefined();
    expect(plain.spec.clusterIP).toBe(body.spec.clusterIP);
    expect(plain.status).toEqual({ loadBalancer: {} });
    const status = { status: { loadBalancer: { ingress } } };
    const refused = await call('PATCH', `${path}/status`, status);
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain('status.loadBalancer.ingress: Forbidden');
    const moved = await call('PATCH', path, { spec: { clusterIP: '10.96.99.99' } });
    expect(moved.body.message).toContain(
      'spec.clusterIPs[0]: Invalid value: ["10.96.99.99"]: may not change once set',
    );
    const outside = { type: 'ExternalName', externalName: 'a.example' };
    const { status: code, body: named } = await call('PATCH', path, { spec: outside });
    expect([code, named.spec?.clusterIP]).toEqual([200, undefined]);
  },

  'both families are for clusters that have both': async ({ call }) => {
    const asked = (ipFamilyPolicy: string) => call('POST', services, service({ ipFamilyPolicy }));
    const refused = await asked('RequireDualStack');
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    );
    const { body } = await asked('PreferDualStack');
    expect(body.spec.ipFamilies).toEqual(['IPv4']);
    expect(body.spec.clusterIPs).toHaveLength(1);
  },

  'a node port is of the range, and of one Service': async ({ call }) => {
    const on = (nodePort: number, protocol = 'TCP') =>
      call(
        'POST',
        services,
        service({ type: 'NodePort', ports: [{ port: 80, nodePort, protocol }] }),
      );
    expect((await on(80)).body.message).toContain(
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
    const first = await on(32_321);
    expect(first.status, first.body.message).toBe(201);
    expect((await on(32_321)).body.message).toContain('provided port is already allocated');
    expect((await on(32_321, 'UDP')).status).toBe(422);
    const path = `${services}/${first.body.metadata.name}`;
    const again = await call('PATCH', path, { metadata: { labels: { a: 'b' } } });
    expect(again.status).toBe(200);
  },

  'the Service network is there to read': async ({ call }) => {
    const { body } = await call('GET', '/apis/networking.k8s.io/v1/servicecidrs/kubernetes');
    expect(body.spec.cidrs).toEqual(['10.96.0.0/16']);
    const { body: own } = await call('GET', `${services}/kubernetes`);
    expect(own.spec.clusterIP).toBe('10.96.0.1');
  },

  'a Pod is filled in, pending, and fixed': async ({ call }) => {
    const pods = '/api/v1/namespaces/default/pods';
    const name = unique('pod');
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i:1' }] },
    };
    const { body } = await call('POST', pods, pod);
    expect(body).toMatchObject({
      spec: {
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        terminationGracePeriodSeconds: 30,
        schedulerName: 'default-scheduler',
        containers: [
          { imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' },
        ],
      },
      status: { phase: 'Pending' },
    });
    expect((await call('PATCH', `${pods}/${name}`, { spec: { hostNetwork: true } })).status).toBe(
      422,
    );
    const status = { phase: 'Running', podIP: '10.5.0.9', podIPs: [{ ip: '10.5.0.9' }] };
    const running = await call('PATCH', `${pods}/${name}/status`, { status });
    expect(running.body.status.podIP).toBe('10.5.0.9');
    const select = `${pods}?fieldSelector=${encodeURIComponent('status.phase=Running,status.podIP=10.5.0.9')}`;
    expect((await call('GET', select)).body.items).toHaveLength(1);
    expect(
      (await call('POST', pods, { ...pod, metadata: { name: unique('p') }, spec: {} })).status,
    ).toBe(422);
  },

  'a Secret in plain words is kept in base64': async ({ call }) => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: unique('secret') },
      stringData: { a: 'b' },
    };
    const { body } = await call('POST', '/api/v1/namespaces/default/secrets', secret);
    expect(body).toMatchObject({ type: 'Opaque', data: { a: 'Yg==' } });
    expect(body.stringData).toBeUndefined();
  },

  'a DaemonSet is kept, counted and judged': async ({ call }) => {
    const path = '/apis/apps/v1/namespaces/default/daemonsets';
    const set = (labels: object) => ({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: unique('ds') },
      spec: {
        selector: { matchLabels: { app: 'x' } },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
      },
    });
    const { status, body } = await call('POST', path, set({ app: 'x' }));
    expect([status, body.metadata.generation, body.spec.updateStrategy.type]).toEqual([
      201,
      1,
      'RollingUpdate',
    ]);
    const grown = await call('PATCH', `${path}/${body.metadata.name}`, {
      spec: { minReadySeconds: 5 },
    });
    expect(grown.body.metadata.generation).toBe(2);
    const status2 = await call('PATCH', `${path}/${body.metadata.name}/status`, {
      status: { numberReady: 3 },
    });
    expect([status2.body.status.numberReady, status2.body.metadata.generation]).toEqual([3, 2]);
    const wrong = await call('POST', path, set({ app: 'y' }));
    expect(wrong.status).toBe(422);
    expect(wrong.body.message).toContain('`selector` does not match template `labels`');
  },

  'an Event lies beside what it is about': async ({ call }) => {
    const event = (involvedObject: object) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: 'e-' },
      involvedObject,
      reason: 'Tested',
      message: 'words',
      type: 'Normal',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
    });
    const path = '/api/v1/namespaces/default/events';
    const name = unique('about');
    const made = await call('POST', path, event({ kind: 'Node', name }));
    expect(made.status).toBe(201);
    const selector = encodeURIComponent(`involvedObject.name=${name},reason=Tested`);
    const { body } = await call('GET', `${path}?fieldSelector=${selector}`);
    expect(body.items).toHaveLength(1);
    const elsewhere = event({ kind: 'Pod', name: 'p', namespace: 'kube-public' });
    expect(await call('POST', path, elsewhere)).toMatchObject({ status: 422 });
  },

  'a value of another type in a built-in kind cannot be read': async ({ call }) => {
    const body = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: unique('x') },
      data: { a: 1 },
    };
    expect(await call('POST', configMaps, body)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest' },
    });
  },

  'a status may leave out what its writer does not know': async ({ call }) => {
    const name = unique('node');
    await call('POST', nodes, node(name));
    const status = { nodeInfo: { kubeletVersion: 'v1.36.0' }, conditions: [{ type: 'Ready' }] };
    const { status: code, body } = await call('PATCH', `${nodes}/${name}/status`, { status });
    expect(code, body.message).toBe(200);
    expect(body.status.nodeInfo).toMatchObject({ kubeletVersion: 'v1.36.0', machineID: '' });
    expect(body.status.conditions[0]).toMatchObject({ type: 'Ready', status: '' });
  },

  'a pod is as sure of its place as it asks for': async ({ call }) => {
    const classOf = async (resources: object) => {
      const { body } = await call('POST', '/api/v1/namespaces/default/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: unique('pod') },
        spec: {
          automountServiceAccountToken: false,
          containers: [{ name: 'a', image: 'a', resources }],
        },
      });
      return body.status?.qosClass ?? body.message;
    };
    const some = { cpu: '1', memory: '1Gi' };
    expect(await classOf({})).toBe('BestEffort');
    expect(await classOf({ requests: { cpu: '1' } })).toBe('Burstable');
    expect(await classOf({ requests: some, limits: some })).toBe('Guaranteed');
    expect(await classOf({ limits: some })).toBe('Guaranteed');
  },
};
