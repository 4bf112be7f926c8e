/** What nobody should send, and somebody will: refused in the same way, and nothing changed. */
import { expect } from 'vitest';
import type { Answer } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, nodes, unique, widget, widgets } from './objects.ts';

const causes = ({ body }: Answer) =>
  (body.details?.causes ?? []).map(
    ({ field, reason }: { field: string; reason: string }) => `${field} ${reason}`,
  );

export const oddCases: Cases = {
  'options of a list or watch that contradict each other are named': async ({ call }) => {
    const refused = async (query: string) => {
      const answer = await call('GET', `${configMaps}?${query}`);
      expect(answer, query).toMatchObject({
        status: 422,
        body: { reason: 'Invalid', details: { group: 'meta.k8s.io', kind: 'ListOptions' } },
      });
      return causes(answer);
    };
    const match = 'resourceVersionMatch FieldValueForbidden';
    expect(await refused('resourceVersionMatch=Exact')).toEqual([match]);
    expect(await refused('resourceVersionMatch=Exact&resourceVersion=0')).toEqual([match]);
    expect(await refused('resourceVersionMatch=Odd&resourceVersion=1')).toEqual([
      'resourceVersionMatch FieldValueNotSupported',
    ]);
    expect(await refused('sendInitialEvents=true')).toEqual([
      'sendInitialEvents FieldValueForbidden',
    ]);
    expect(await refused('watch=1&sendInitialEvents=true')).toEqual([match]);
    expect(await refused('watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=0')).toEqual([
      match,
    ]);
  },

  'options of a write that cannot be meant are named, and nothing is written': async ({ call }) => {
    const name = unique('odd');
    const object = configMap(name);
    const refused = async (method: string, query: string, body?: unknown) => {
      const isNew = method === 'POST';
      const path = isNew ? configMaps : `${configMaps}/${name}`;
      const answer = await call(method, `${path}?${query}`, body);
      expect(answer, `${method} ${query}`).toMatchObject({
        status: 422,
        body: { reason: 'Invalid', details: { group: 'meta.k8s.io' } },
      });
      return [answer.body.details.kind, ...causes(answer)];
    };
    expect(await refused('POST', 'dryRun=Some', object)).toEqual([
      'CreateOptions',
      'dryRun FieldValueNotSupported',
    ]);
    expect(await refused('POST', `fieldManager=${'x'.repeat(129)}`, object)).toEqual([
      'CreateOptions',
      'fieldManager FieldValueTooLong',
    ]);
    expect((await call('GET', `${configMaps}/${name}`)).status).toBe(404);
    expect((await call('POST', configMaps, object)).status).toBe(201);
    expect(await refused('PUT', 'fieldValidation=Loud', object)).toEqual([
      'UpdateOptions',
      'fieldValidation FieldValueNotSupported',
    ]);
    expect(await refused('PATCH', 'fieldManager=a%0Ab', {})).toEqual([
      'PatchOptions',
      'fieldManager FieldValueInvalid',
    ]);
    expect(await refused('PATCH', 'force=true', {})).toEqual([
      'PatchOptions',
      'force FieldValueForbidden',
    ]);
    expect(await refused('DELETE', 'propagationPolicy=Somehow')).toEqual([
      'DeleteOptions',
      'propagationPolicy FieldValueNotSupported',
    ]);
    expect(
      await refused('DELETE', '', { propagationPolicy: 'Orphan', orphanDependents: true }),
    ).toEqual(['DeleteOptions', 'propagationPolicy FieldValueInvalid']);
    const another = await call('DELETE', `${configMaps}/${name}`, {
      kind: 'Pod',
      apiVersion: 'v1',
    });
    expect(another.status).toBe(400);
    expect((await call('GET', `${configMaps}/${name}`)).status).toBe(200);
  },

  'numbers in a query are numbers, and a negative limit is none': async ({ call }) => {
    const name = unique('odd');
    await call('POST', configMaps, configMap(name));
    for (const [method, path] of [
      ['GET', `${configMaps}?limit=many`],
      ['GET', `${configMaps}?watch=1&timeoutSeconds=long`],
      ['DELETE', `${configMaps}/${name}?gracePeriodSeconds=soon`],
    ] as const) {
      expect(await call(method, path), path).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest' },
      });
    }
    const { status, body } = await call('GET', `${configMaps}?limit=-1`);
    expect([status, body.metadata.continue]).toEqual([200, undefined]);
    expect(body.items.length).toBeGreaterThan(0);
  },

  'nobody is told of a version that is not reached yet': async ({ call }) => {
    const name = unique('odd');
    await call('POST', configMaps, configMap(name));
    const far = await call('GET', `${configMaps}/${name}?resourceVersion=99999999`);
    expect(far).toMatchObject({ status: 504, body: { reason: 'Timeout' } });
    expect(causes(far)).toEqual(['undefined ResourceVersionTooLarge']);
    expect(far.body.details.retryAfterSeconds).toBe(1);
  },

  'requests, annotations, data and whole objects have their limits': async ({ call }) => {
    const name = unique('odd');
    const many = 'x'.repeat(300_000);
    const noted = await call('POST', configMaps, configMap(name, {}, { annotations: { many } }));
    expect([noted.status, causes(noted)]).toEqual([
      422,
      ['metadata.annotations FieldValueTooLong'],
    ]);
    const full = await call('POST', configMaps, configMap(name, { a: 'x'.repeat(1_048_577) }));
    expect([full.status, causes(full)]).toEqual([422, ['[] FieldValueTooLong']]);
    const heavy = widget(name, { size: 1, secret: 'x'.repeat(1_700_000) });
    const whole = await call('POST', widgets, heavy);
    expect([whole.status, whole.body.message]).toEqual([500, 'etcdserver: request is too large']);
    expect((await call('GET', `${widgets}/${name}`)).status).toBe(404);
    const huge = await call('POST', configMaps, configMap(name, { a: 'x'.repeat(3_200_000) }));
    expect(huge).toMatchObject({ status: 413, body: { reason: 'RequestEntityTooLarge' } });
    expect((await call('POST', configMaps, configMap(name))).status).toBe(201);
  },

  'a custom object has no other parts than its kind': async ({ call }) => {
    const name = unique('odd');
    await call('POST', widgets, widget(name, { size: 1 }));
    expect(await call('GET', `${widgets}/${name}/scale`)).toMatchObject({
      status: 404,
      body: { details: { kind: 'widgets', group: 'ex.dev', name } },
    });
  },

  'namespaces are not deleted all at once': async ({ call }) => {
    expect((await call('DELETE', '/api/v1/namespaces')).status).toBe(405);
    const { body } = await call('GET', '/api/v1');
    const verbsOf = (plural: string) =>
      body.resources.find(({ name }: { name: string }) => name === plural).verbs;
    expect(verbsOf('namespaces')).not.toContain('deletecollection');
    expect(verbsOf('nodes')).toContain('deletecollection');
  },

  'a bookmark has its version, and an initial one says so': async ({ call, watch }) => {
    const name = unique('odd');
    await call('POST', nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const initial = 'allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    const only = `fieldSelector=metadata.name%3D${name}`;
    const all = await watch(`${nodes}?watch=1&${initial}&sendInitialEvents=true&${only}`);
    const [added, bookmark] = await all.until(2);
    all.stop();
    expect([added?.type, bookmark?.type]).toEqual(['ADDED', 'BOOKMARK']);
    expect(bookmark?.object).toEqual({
      kind: 'Node',
      apiVersion: 'v1',
      metadata: {
        resourceVersion: expect.stringMatching(/^\d+$/),
        annotations: { 'k8s.io/initial-events-end': 'true' },
      },
      ...(bookmark?.object.spec && { spec: {} }),
      ...(bookmark?.object.status && { status: expect.anything() }),
    });
    const later = await watch(`${nodes}?watch=1&${initial}&sendInitialEvents=false&${only}`);
    await call('PATCH', `${nodes}/${name}`, { metadata: { labels: { a: 'b' } } });
    const [first] = await later.until(1);
    later.stop();
    expect(first?.type).toBe('MODIFIED');
  },
};
