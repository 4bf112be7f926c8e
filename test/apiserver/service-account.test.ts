/** With kubelets, a pod gets the token of its service account and ends when its kubelet says so: on both servers alike. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Server, startServer } from './server.ts';

const namespace = 'accounts';
const base = `/api/v1/namespaces/${namespace}`;
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

const volume = {
  name: 'kube-api-access',
  projected: {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [
            { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } },
          ],
        },
      },
    ],
  },
};
const mount = { name: 'kube-api-access', readOnly: true, mountPath };

describe.each(['embedded', 'real'] as const)('on the %s API server', (name) => {
  let server: Server;

  beforeAll(async () => {
    server = await startServer(name, { hasKubelets: true });
    await server.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    const accounts = [
      { metadata: { name: 'default' } },
      { metadata: { name: 'worker' }, imagePullSecrets: [{ name: 'registry' }] },
      { metadata: { name: 'quiet' }, automountServiceAccountToken: false },
    ];
    for (const account of accounts) await server.call('POST', `${base}/serviceaccounts`, account);
  }, 120_000);

  afterAll(() => server?.stop());

  let serial = 0;
  async function create(spec: object, annotations: object = {}) {
    serial += 1;
    const { status, body } = await server.call('POST', `${base}/pods`, {
      metadata: { name: `pod-${serial}`, annotations },
      spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec },
    });
    // The suffix is drawn by lot.
    const text = JSON.stringify(body).replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access');
    return { status, body: JSON.parse(text) as Body };
  }

  test('a pod that names none has the account default, its token and its namespace', async () => {
    const { body } = await create({ initContainers: [{ name: 'first', image: 'i:1' }] });
    expect(body.spec).toMatchObject({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      volumes: [volume],
      containers: [{ volumeMounts: [mount] }],
      initContainers: [{ volumeMounts: [mount] }],
    });
  });

  test('an account brings its secrets for images, unless the pod has its own', async () => {
    const { body } = await create({ serviceAccountName: 'worker' });
    expect(body.spec.imagePullSecrets).toEqual([{ name: 'registry' }]);
    const own = await create({ serviceAccount: 'worker', imagePullSecrets: [{ name: 'own' }] });
    expect(own.body.spec.imagePullSecrets).toEqual([{ name: 'own' }]);
    expect(own.body.spec.serviceAccountName).toBe('worker');
  });

  test('who wants no token gets none: the pod decides before its account', async () => {
    const { body: quiet } = await create({ serviceAccountName: 'quiet' });
    expect(quiet.spec.volumes).toBeUndefined();
    const wanting = { serviceAccountName: 'quiet', automountServiceAccountToken: true };
    expect((await create(wanting)).body.spec.volumes).toEqual([volume]);
    const { body: off } = await create({ automountServiceAccountToken: false });
    expect(off.spec.volumes).toBeUndefined();
  });

  test('a container with something else in that place keeps it', async () => {
    const mounts = [{ name: 'own', mountPath }];
    const { body } = await create({
      volumes: [{ name: 'own', emptyDir: {} }],
      containers: [{ name: 'c', image: 'i:1', volumeMounts: mounts }],
    });
    expect(body.spec.volumes).toHaveLength(1);
    expect(body.spec.containers[0].volumeMounts).toEqual(mounts);
  });

  test('an account that does not exist is refused', async () => {
    const { status, body } = await create({ serviceAccountName: 'nobody' });
    expect({ status, message: body.message }).toEqual({
      status: 403,
      message: `pods "pod-${serial}" is forbidden: error looking up service account ${namespace}/nobody: serviceaccount "nobody" not found`,
    });
  });

  test('a deleted pod stays beyond its time until it is deleted without grace', async () => {
    const { body } = await create({ nodeName: 'node1', terminationGracePeriodSeconds: 1 });
    const path = `${base}/pods/${body.metadata.name}`;
    const { body: marked } = await server.call('DELETE', path);
    const overMs = Date.parse(marked.metadata.deletionTimestamp) + 1_000;
    await expect.poll(() => Date.now() > overMs, { timeout: 30_000 }).toBe(true);
    expect((await server.call('GET', path)).status).toBe(200);
    await server.call('DELETE', path, { gracePeriodSeconds: 0 });
    expect((await server.call('GET', path)).status).toBe(404);
  }, 60_000);
});
