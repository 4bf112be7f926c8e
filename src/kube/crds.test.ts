import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Log } from '../base/log.ts';
import { KubeClient } from './client.ts';
import { compareApiVersions, ensureCrds } from './crds.ts';
import { sendStatus, TinyApi } from './testing/tiny-api.ts';

const collection = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const path = `${collection}/things.test.dev`;

const crd = (more: { versions?: object[]; annotations?: object; schema?: number } = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.test.dev', annotations: more.annotations ?? {} },
  spec: {
    group: 'test.dev',
    scope: 'Cluster',
    names: { plural: 'things', kind: 'Thing' },
    versions: more.versions ?? [
      { name: 'v1alpha1', served: true, storage: true, schema: more.schema ?? 1 },
    ],
  },
});

let api: TinyApi;
let client: KubeClient;
let said: string[];
const log: Log = {
  debug() {},
  info: (_fields, message) => said.push(message),
  warn: (_fields, message) => said.push(message),
  error: (_fields, message) => said.push(message),
};

/** The server's part: it keeps the status, counts generations, and skips no-ops. */
function behave(status: object = established): void {
  api.intercept = (asked, response) => {
    if (asked.path === path && asked.method === 'PUT') {
      const live = api.object(path)!;
      const isSame =
        JSON.stringify(live.spec) === JSON.stringify(asked.body.spec) &&
        JSON.stringify(live.metadata.annotations) ===
          JSON.stringify(asked.body.metadata.annotations);
      if (asked.body.metadata.resourceVersion !== live.metadata.resourceVersion) return false;
      const generation = Number(live.metadata.generation ?? 1) + (isSame ? 0 : 1);
      if (!isSame) {
        api.put(path, { ...asked.body, metadata: { ...asked.body.metadata, generation }, status });
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(api.object(path)));
      return true;
    }
    if (asked.path === collection && asked.method === 'POST' && !api.object(path)) {
      asked.body.status = status;
      asked.body.metadata.generation = 1;
    }
    return false;
  };
}
const established = {
  conditions: [{ type: 'Established', status: 'True' }],
  storedVersions: ['v1alpha1'],
};

beforeEach(async () => {
  api = await TinyApi.start();
  client = new KubeClient(api.access());
  said = [];
  behave();
});
afterEach(async () => {
  await client.close();
  await api.stop();
});

test('registers what is missing, and a second time changes nothing and says nothing', async () => {
  await ensureCrds(client, [crd()], log);
  expect(said).toEqual(['registered things.test.dev']);
  const { resourceVersion } = api.object(path)!.metadata;
  await ensureCrds(client, [crd()], log);
  expect(said).toHaveLength(1);
  expect(api.object(path)!.metadata.resourceVersion).toBe(resourceVersion);
});

test('upgrades in place and keeps what others wrote into the metadata', async () => {
  await ensureCrds(client, [crd()], log);
  const live = api.object(path)!;
  api.put(path, {
    ...live,
    metadata: { ...live.metadata, annotations: { theirs: 'stays' }, labels: { team: 'net' } },
  });
  await ensureCrds(client, [crd({ schema: 2, annotations: { ours: 'x' } })], log);
  expect(said.at(-1)).toBe('upgraded things.test.dev');
  expect(api.object(path)).toMatchObject({
    metadata: { annotations: { theirs: 'stays', ours: 'x' }, labels: { team: 'net' } },
    spec: { versions: [{ schema: 2 }] },
  });
});

test('many replicas at once register one, and all come back', async () => {
  await Promise.all([1, 2, 3, 4, 5].map(() => ensureCrds(client, [crd()], log)));
  expect(said.filter((line) => line.startsWith('registered'))).toHaveLength(1);
});

test('a schema of a higher revision is left alone', async () => {
  const revisionAnnotation = 'test.dev/revision';
  const of = (revision: string, schema: number) =>
    crd({ schema, annotations: { [revisionAnnotation]: revision } });
  await ensureCrds(client, [of('7', 7)], log, { revisionAnnotation });
  await ensureCrds(client, [of('6', 6)], log, { revisionAnnotation });
  expect(said.at(-1)).toContain('its schema is revision 7, ours is 6');
  expect(api.object(path)).toMatchObject({ spec: { versions: [{ schema: 7 }] } });
});

test('a newer storage version is never taken back', async () => {
  const versions = [
    { name: 'v1beta1', served: true, storage: true },
    { name: 'v1alpha1', served: true, storage: false },
  ];
  await ensureCrds(client, [crd({ versions })], log);
  await ensureCrds(client, [crd()], log);
  expect(said.at(-1)).toContain('it stores v1beta1, which is newer than v1alpha1');
});

test('a version in which objects may be stored is never dropped', async () => {
  behave({ ...established, storedVersions: ['v1alpha1', 'v1alpha0'] });
  await ensureCrds(client, [crd()], log);
  await ensureCrds(client, [crd({ schema: 2 })], log);
  expect(said.at(-1)).toContain('objects may be stored as v1alpha0');
});

test('names that the server does not accept are an error with its words', async () => {
  behave({
    conditions: [{ type: 'NamesAccepted', status: 'False', message: '"things" is already in use' }],
  });
  const work = ensureCrds(client, [crd()], log, { timeoutMs: 150 });
  await expect(work).rejects.toThrow(
    'The API server does not serve things.test.dev: "things" is already in use.',
  );
});

test('waits until the path answers, not only until it is established', async () => {
  let misses = 3;
  const served = api.intercept!;
  api.intercept = (asked, response) => {
    if (asked.path !== '/apis/test.dev/v1alpha1/things' || misses === 0) {
      return served(asked, response);
    }
    misses -= 1;
    sendStatus(response, 404, 'NotFound');
    return true;
  };
  await ensureCrds(client, [crd()], log);
  expect(misses).toBe(0);
});

test('a refusal that is no race is told', async () => {
  api.intercept = (asked, response) => {
    if (asked.method !== 'POST') return false;
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  await expect(ensureCrds(client, [crd()], log)).rejects.toMatchObject({ status: 403 });
});

test('API versions are ordered as Kubernetes orders them', () => {
  const rising = ['nonsense', 'v1alpha1', 'v1alpha2', 'v2alpha1', 'v1beta1', 'v1beta2', 'v1', 'v2'];
  for (let i = 1; i < rising.length; i += 1) {
    expect(compareApiVersions(rising[i]!, rising[i - 1]!)).toBeGreaterThan(0);
    expect(compareApiVersions(rising[i - 1]!, rising[i]!)).toBeLessThan(0);
  }
  expect(compareApiVersions('v1', 'v1')).toBe(0);
});
