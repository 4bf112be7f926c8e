import { expect } from 'vitest';
import type { Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, node, nodes, unique, widget, widgets } from './objects.ts';

const json = { type: 'application/json-patch+json' };
const strategic = { type: 'application/strategic-merge-patch+json' };

async function fresh({ call }: Server, data: object, more: object = {}): Promise<string> {
  const name = unique('patch');
  expect((await call('POST', configMaps, configMap(name, data, more))).status).toBe(201);
  return `${configMaps}/${name}`;
}

const pods = '/api/v1/namespaces/default/pods';
const pod = (name: string, containers: object[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers },
});

export const patchCases: Cases = {
  'a merge patch sets, replaces and takes away': async (server) => {
    const path = await fresh(server, { a: '1', b: '1' }, { labels: { keep: 'me' } });
    const { status, body } = await server.call('PATCH', path, {
      data: { a: null, b: '2', c: '3' },
    });
    expect(status).toBe(200);
    expect(body.data).toEqual({ b: '2', c: '3' });
    expect(body.metadata.labels).toEqual({ keep: 'me' });
  },

  'a merge patch with a version is optimistic': async (server) => {
    const path = await fresh(server, { a: '1' });
    const stale = { metadata: { resourceVersion: '1' }, data: { a: '2' } };
    expect(await server.call('PATCH', path, stale)).toMatchObject({
      status: 409,
      body: { reason: 'Conflict' },
    });
    const { body } = await server.call('GET', path);
    const { resourceVersion } = body.metadata;
    const right = { metadata: { resourceVersion }, data: { a: '2' } };
    expect((await server.call('PATCH', path, right)).status).toBe(200);
  },

  'a JSON patch adds, replaces, removes, moves and copies': async (server) => {
    const path = await fresh(server, { a: '1', b: '2' });
    const { body } = await server.call(
      'PATCH',
      path,
      [
        { op: 'add', path: '/data/c', value: '3' },
        { op: 'replace', path: '/data/a', value: '9' },
        { op: 'copy', from: '/data/a', path: '/data/d' },
        { op: 'move', from: '/data/b', path: '/data/e' },
        { op: 'add', path: '/metadata/labels', value: { 'ex.dev~1x': 'y' } },
        { op: 'remove', path: '/metadata/labels/ex.dev~01x' },
        { op: 'add', path: '/metadata/labels/ex.dev~1z', value: 'w' },
      ],
      json,
    );
    expect(body.data).toEqual({ a: '9', c: '3', d: '9', e: '2' });
    expect(body.metadata.labels).toEqual({ 'ex.dev/z': 'w' });
  },

  'a JSON patch whose test fails changes nothing': async (server) => {
    const path = await fresh(server, { a: '1' });
    const patch = [
      { op: 'replace', path: '/data/a', value: '2' },
      { op: 'test', path: '/data/a', value: '1' },
    ];
    expect(await server.call('PATCH', path, patch, json)).toMatchObject({
      status: 422,
      body: { reason: 'Invalid' },
    });
    expect((await server.call('GET', path)).body.data).toEqual({ a: '1' });
  },

  'a JSON patch can test for absence with null': async (server) => {
    const path = await fresh(server, { a: '1' });
    const test = (value: unknown, place: string) => [
      { op: 'test', path: place, value },
      { op: 'add', path: '/data/new', value: 'x' },
    ];
    expect((await server.call('PATCH', path, test(null, '/data/new'), json)).status).toBe(200);
    expect((await server.call('PATCH', path, test(null, '/data/new'), json)).status).toBe(422);
  },

  'a JSON patch that removes what is not there is refused': async (server) => {
    const path = await fresh(server, {});
    const patch = [{ op: 'remove', path: '/data/none' }];
    expect((await server.call('PATCH', path, patch, json)).status).toBe(422);
  },

  'a strategic patch merges conditions by type and addresses too': async ({ call }) => {
    const name = unique('strategic');
    await call('POST', nodes, node(name));
    const condition = (type: string, status: string) => ({ type, status, reason: 'Why' });
    const path = `${nodes}/${name}/status`;
    const patch = (conditions: object[]) =>
      call('PATCH', path, { status: { conditions } }, strategic);
    await patch([condition('Ready', 'True'), condition('Other', 'True')]);
    const { status, body } = await patch([condition('Ready', 'False')]);
    expect(status).toBe(200);
    expect(body.status.conditions).toMatchObject([
      { type: 'Ready', status: 'False' },
      { type: 'Other', status: 'True' },
    ]);
    const gone = await patch([{ type: 'Other', $patch: 'delete' }]);
    expect(gone.body.status.conditions).toMatchObject([{ type: 'Ready', status: 'False' }]);
  },

  'a strategic patch merges finalizers, and replaces taints': async ({ call }) => {
    const name = unique('strategic');
    const taint = (key: string) => ({ key, effect: 'NoSchedule' });
    await call('POST', nodes, node(name, { taints: [taint('a')] }, { finalizers: ['ex.dev/a'] }));
    const patch = { metadata: { finalizers: ['ex.dev/b'] }, spec: { taints: [taint('b')] } };
    const { body } = await call('PATCH', `${nodes}/${name}`, patch, strategic);
    expect(body.metadata.finalizers.sort()).toEqual(['ex.dev/a', 'ex.dev/b']);
    expect(body.spec.taints.map(({ key }: { key: string }) => key)).toEqual(['b']);
    const drop = { metadata: { '$deleteFromPrimitiveList/finalizers': ['ex.dev/a', 'ex.dev/b'] } };
    const { body: bare } = await call('PATCH', `${nodes}/${name}`, drop, strategic);
    expect(bare.metadata.finalizers).toBeUndefined();
  },

  'a strategic patch finds a container by its name': async ({ call }) => {
    const name = unique('pod');
    const containers = [
      { name: 'a', image: 'one:1' },
      { name: 'b', image: 'two:1' },
    ];
    expect((await call('POST', pods, pod(name, containers))).status).toBe(201);
    const patch = { spec: { containers: [{ name: 'b', image: 'two:2' }] } };
    const { status, body } = await call('PATCH', `${pods}/${name}`, patch, strategic);
    expect(status).toBe(200);
    const images = body.spec.containers.map(({ image }: { image: string }) => image);
    expect(images.sort()).toEqual(['one:1', 'two:2']);
  },

  'a strategic patch of a custom resource is an unknown format': async ({ call }) => {
    const name = unique('patch');
    await call('POST', widgets, widget(name, { size: 1 }));
    expect(
      await call('PATCH', `${widgets}/${name}`, { spec: { size: 2 } }, strategic),
    ).toMatchObject({
      status: 415,
      body: {
        reason: 'UnsupportedMediaType',
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      },
    });
  },

  'a patch may not rename': async (server) => {
    const path = await fresh(server, {});
    const answer = await server.call('PATCH', path, { metadata: { name: 'another' } });
    expect(answer.status).toBe(400);
  },

  'what only the server may set survives a patch': async (server) => {
    const path = await fresh(server, {});
    const { body: before } = await server.call('GET', path);
    const patch = { metadata: { creationTimestamp: null, labels: { a: 'b' } } };
    const { body } = await server.call('PATCH', path, patch);
    expect(body.metadata.creationTimestamp).toBe(before.metadata.creationTimestamp);
    expect(body.metadata.uid).toBe(before.metadata.uid);
  },

  'a patch of nothing is not found': async ({ call }) => {
    expect((await call('PATCH', `${nodes}/nobody`, { spec: {} })).status).toBe(404);
  },

  'a patch that makes an object unreadable is invalid, whatever its type': async (server) => {
    const path = await fresh(server, { a: '1' });
    const strict = `${path}?fieldValidation=Strict`;
    for (const [at, body, options] of [
      [path, { data: { a: 5 } }, {}],
      [path, { data: { a: 5 } }, strategic],
      [path, [{ op: 'replace', path: '/data', value: 'words' }], json],
      [path, [{ op: 'frobnicate', path: '/data' }], json],
      [strict, { bogus: 1 }, {}],
      [strict, { bogus: 1 }, strategic],
      [strict, [{ op: 'add', path: '/bogus', value: 1 }], json],
    ] as const) {
      expect(await server.call('PATCH', at, body, options), JSON.stringify(body)).toMatchObject({
        status: 422,
        body: { reason: 'Invalid' },
      });
    }
    const { body } = await server.call('PATCH', strict, { bogus: 1 }, strategic);
    expect(body.details.causes).toEqual([
      {
        field: 'patch',
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "map[bogus:1]": strict decoding error: unknown field "bogus"',
      },
    ]);
    expect((await server.call('GET', path)).body.data).toEqual({ a: '1' });
  },

  'what a strategic patch adds comes before what was there': async ({ call }) => {
    const name = unique('patch');
    await call('POST', nodes, node(name, {}, { finalizers: ['ex.dev/a'] }));
    const path = `${nodes}/${name}`;
    const more = { metadata: { finalizers: ['ex.dev/b'] } };
    const { body } = await call('PATCH', path, more, strategic);
    expect(body.metadata.finalizers).toEqual(['ex.dev/b', 'ex.dev/a']);
    const set = (...types: string[]) => ({
      status: { conditions: types.map((type) => ({ type, status: 'True' })) },
    });
    await call('PATCH', `${path}/status`, set('A', 'B'), strategic);
    const patched = await call('PATCH', `${path}/status`, set('C', 'B'), strategic);
    expect(patched.body.status.conditions.map(({ type }: { type: string }) => type)).toEqual([
      'C',
      'A',
      'B',
    ]);
    await call('PATCH', path, { metadata: { finalizers: null } });
    await call('DELETE', path);
  },
};
