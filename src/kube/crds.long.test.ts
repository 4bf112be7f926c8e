import { afterEach, beforeEach, expect, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { TestApi } from '../../test/parts/test-api.ts';
import type { Log } from '../base/log.ts';
import { KubeClient } from './client.ts';
import { compareApiVersions, ensureCrds } from './crds.ts';

const collection = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const path = `${collection}/things.test.dev`;

const version = (name: string, storage: boolean, schema = 1) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', description: `schema ${schema}` } },
});

interface Crd {
  versions?: object[];
  annotations?: Record<string, string>;
  schema?: number;
}

const crd = (more: Crd = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.test.dev', annotations: more.annotations ?? {} },
  spec: {
    group: 'test.dev',
    scope: 'Cluster',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: more.versions ?? [version('v1alpha1', true, more.schema)],
  },
});

let api: TestApi;
let client: KubeClient;
let said: string[];
const log: Log = {
  debug() {},
  info: (_fields, message) => said.push(message),
  warn: (_fields, message) => said.push(message),
  error: (_fields, message) => said.push(message),
};

beforeEach(async () => {
  api = await TestApi.start([]);
  client = new KubeClient(api.access());
  said = [];
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
    spec: live.spec,
    metadata: { annotations: { theirs: 'stays' }, labels: { team: 'net' } },
  });
  await ensureCrds(client, [crd({ schema: 2, annotations: { ours: 'x' } })], log);
  expect(said.at(-1)).toBe('upgraded things.test.dev');
  expect(api.object(path)).toMatchObject({
    metadata: { annotations: { theirs: 'stays', ours: 'x' }, labels: { team: 'net' } },
    spec: { versions: [version('v1alpha1', true, 2)] },
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
  expect(api.object(path)).toMatchObject({ spec: { versions: [version('v1alpha1', true, 7)] } });
});

test('a newer storage version is never taken back', async () => {
  const versions = [version('v1beta1', true), version('v1alpha1', false)];
  await ensureCrds(client, [crd({ versions })], log);
  await ensureCrds(client, [crd()], log);
  expect(said.at(-1)).toContain('it stores v1beta1, which is newer than v1alpha1');
});

test('a version in which objects may be stored is never dropped', async () => {
  await ensureCrds(client, [crd({ versions: [version('v1alpha0', true)] })], log);
  await ensureCrds(
    client,
    [crd({ versions: [version('v1alpha1', true), version('v1alpha0', false)] })],
    log,
  );
  await ensureCrds(client, [crd({ schema: 2 })], log);
  expect(said.at(-1)).toContain('objects may be stored as v1alpha0');
});

test('names that the server does not accept are an error with its words', async () => {
  const other = crd();
  other.metadata.name = 'stuff.test.dev';
  other.spec.names = { ...other.spec.names, plural: 'stuff', listKind: 'StuffList' };
  await api.register(other);
  const work = ensureCrds(client, [crd()], log, { timeoutMs: 1_000 });
  await expect(work).rejects.toThrow(
    'The API server does not serve things.test.dev: "Thing" is already in use.',
  );
});

test('waits until the path answers, not only until it is established', async () => {
  let misses = 3;
  api.intercept = (asked, response) => {
    if (asked.path !== '/apis/test.dev/v1alpha1/things' || misses === 0) return false;
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
