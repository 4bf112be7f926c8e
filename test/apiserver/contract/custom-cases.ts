import { expect } from 'vitest';
import type { Answer, Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { crds, unique, widget, widgetCrd, widgets } from './objects.ts';

/** The causes of a refusal, as `field: message`. */
const causes = ({ status, body }: Answer): string[] => {
  expect(status, JSON.stringify(body)).toBe(422);
  return body.details.causes
    .filter(({ field }: Body) => field !== '<nil>')
    .map(({ field, message }: Body) => `${field}: ${message}`);
};

const make = ({ call }: Server, spec: object) => call('POST', widgets, widget(unique('w'), spec));

async function made(server: Server, spec: object): Promise<string> {
  const { status, body } = await make(server, spec);
  expect(status, JSON.stringify(body)).toBe(201);
  return `${widgets}/${body.metadata.name}`;
}

const openCrd = (plural: string, kind: string, version: object = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.ex.dev` },
  spec: {
    group: 'ex.dev',
    scope: 'Cluster',
    names: { kind, plural },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
        ...version,
      },
    ],
  },
});

async function served({ call }: Server, path: string): Promise<void> {
  await expect.poll(async () => (await call('GET', path)).status).toBe(200);
}

export const customCases: Cases = {
  'a definition is established, with its names filled in': async ({ call }) => {
    const { body } = await call('GET', `${crds}/widgets.ex.dev`);
    expect(body.spec.names.listKind).toBe('WidgetList');
    expect(body.spec.conversion).toEqual({ strategy: 'None' });
    expect(body.status.acceptedNames.kind).toBe('Widget');
    expect(body.status.storedVersions).toEqual(['v1']);
    expect(
      body.status.conditions.map(({ type, status }: Body) => `${type} ${status}`).sort(),
    ).toEqual(['Established True', 'NamesAccepted True']);
  },

  'defaults come, and unknown fields go': async (server) => {
    const { body } = await make(server, {
      size: 1,
      bogus: true,
      open: { anything: { goes: [1] } },
      parts: [{ name: 'a', bogus: 1 }],
      labels: { any: 'thing' },
    });
    expect(body.spec).toEqual({
      size: 1,
      mode: 'a',
      open: { anything: { goes: [1] } },
      parts: [{ name: 'a', count: 1 }],
      labels: { any: 'thing' },
    });
  },

  'what is missing': async (server) => {
    expect(causes(await make(server, {}))).toEqual(['spec.size: Required value']);
    const bare = { apiVersion: 'ex.dev/v1', kind: 'Widget', metadata: { name: unique('w') } };
    expect(causes(await server.call('POST', widgets, bare))).toEqual(['spec: Required value']);
    const parts = [{ note: 'x' }];
    expect(causes(await make(server, { size: 1, parts }))).toEqual([
      'spec.parts[0].name: Required value',
    ]);
  },

  'numbers out of their range': async (server) => {
    expect(causes(await make(server, { size: 101 }))).toEqual([
      'spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100',
    ]);
    expect(causes(await make(server, { size: -9 }))[0]).toBe(
      'spec.size: Invalid value: -9: spec.size in body should be greater than or equal to -5',
    );
  },

  'values of another type': async (server) => {
    expect(causes(await make(server, { size: 'x', isOn: 'yes', tags: 'x' }))).toEqual(
      expect.arrayContaining([
        'spec.isOn: Invalid value: "string": spec.isOn in body must be of type boolean: "string"',
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
        'spec.tags: Invalid value: "string": spec.tags in body must be of type array: "string"',
      ]),
    );
  },

  'a word that is not in the list': async (server) => {
    expect(causes(await make(server, { size: 1, mode: 'c' }))).toEqual([
      'spec.mode: Unsupported value: "c": supported values: "a", "b"',
    ]);
  },

  'strings too short, too long, of another pattern or format': async (server) => {
    expect(causes(await make(server, { size: 1, tags: ['a'] }))).toEqual([
      'spec.tags[0]: Invalid value: "a": spec.tags[0] in body should be at least 2 chars long',
    ]);
    expect(causes(await make(server, { size: 1, tags: ['abcdef'] }))).toEqual([
      'spec.tags[0]: Too long: may not be more than 5 bytes',
    ]);
    expect(causes(await make(server, { size: 1, tags: ['AB'] }))).toEqual([
      'spec.tags[0]: Invalid value: "AB": spec.tags[0] in body should match \'^[a-z]+$\'',
    ]);
    expect(causes(await make(server, { size: 1, when: 'now' }))).toEqual([
      'spec.when: Invalid value: "now": spec.when in body must be of type date-time: "now"',
    ]);
  },

  'lists too short, too long, or with the same twice': async (server) => {
    expect(causes(await make(server, { size: 1, tags: [] }))).toEqual([
      'spec.tags: Invalid value: 0: spec.tags in body should have at least 1 items',
    ]);
    expect(causes(await make(server, { size: 1, tags: ['aa', 'bb', 'cc', 'dd'] }))).toEqual([
      'spec.tags: Too many: 4: must have at most 3 items',
    ]);
    expect(causes(await make(server, { size: 1, tags: ['aa', 'aa'] }))).toEqual([
      'spec.tags[1]: Duplicate value: "aa"',
    ]);
    expect(causes(await make(server, { size: 1, parts: [{ name: 'a' }, { name: 'a' }] }))).toEqual([
      'spec.parts[1]: Duplicate value: {"name":"a"}',
    ]);
  },

  'a number or a string, and a null where it is allowed': async (server) => {
    expect((await make(server, { size: 1, port: 80 })).status).toBe(201);
    expect((await make(server, { size: 1, port: 'http' })).status).toBe(201);
    expect((await make(server, { size: 1, port: true })).status).toBe(422);
    expect((await make(server, { size: 1, maybe: null })).body.spec.maybe).toBeNull();
    expect((await make(server, { size: 1, secret: null })).body.spec.secret).toBeUndefined();
    expect((await make(server, { size: 1, mode: null })).body.spec.mode).toBe('a');
    expect((await make(server, { size: 1, ratio: 0.5 })).status).toBe(201);
    expect((await make(server, { size: 1, ratio: 2 })).status).toBe(201);
    expect((await make(server, { size: 1.5 })).status).toBe(422);
  },

  'a refusal names kind, group, object and every cause': async ({ call }) => {
    const name = unique('w');
    const { body } = await call('POST', widgets, widget(name, { size: 200 }));
    expect(body).toMatchObject({
      reason: 'Invalid',
      code: 422,
      message: `Widget.ex.dev "${name}" is invalid: spec.size: Invalid value: 200: spec.size in body should be less than or equal to 100`,
      details: { name, group: 'ex.dev', kind: 'Widget' },
    });
  },

  'rules hold at creation': async (server) => {
    expect(causes(await make(server, { size: 0 }))).toEqual([
      'spec: Invalid value: size must be positive',
    ]);
  },

  'a rule can say where and how it failed': async (server) => {
    expect(causes(await make(server, { size: 1, secret: 'x' }))).toEqual([
      'spec.secret: Forbidden: not that one',
    ]);
    expect(causes(await make(server, { size: 1, network: '10.0.0.0/33' }))).toEqual([
      'spec.network: Invalid value: "10.0.0.0/33": "10.0.0.0/33" is no network',
    ]);
    expect((await make(server, { size: 1, network: 'fd00::/48' })).status).toBe(201);
  },

  'rules are not tried on an object that is wrong already': async (server) => {
    const { body } = await make(server, { size: 'x' });
    expect(body.details.causes.at(-1)).toEqual({
      reason: 'FieldValueInvalid',
      field: '<nil>',
      message:
        'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    });
  },

  'rules about the past hold at changes alone': async (server) => {
    const path = await made(server, { size: 5 });
    expect(causes(await server.call('PATCH', path, { spec: { size: 4 } }))).toEqual([
      'spec: Invalid value: a widget never shrinks',
    ]);
    expect((await server.call('PATCH', path, { spec: { size: 6 } })).status).toBe(200);
  },

  'items of a keyed list have a past, by their key': async (server) => {
    const path = await made(server, { size: 1, parts: [{ name: 'a', count: 1 }] });
    const set = (parts: object[]) => server.call('PATCH', path, { spec: { parts } });
    expect(
      (
        await set([
          { name: 'b', count: 7 },
          { name: 'a', count: 1 },
        ])
      ).status,
    ).toBe(200);
    expect(
      causes(
        await set([
          { name: 'a', count: 2 },
          { name: 'b', count: 7 },
        ]),
      ),
    ).toEqual(['spec.parts[0]: Invalid value: count is fixed']);
  },

  'the status is not set by a create, nor by a write to the object': async ({ call }) => {
    const name = unique('w');
    const more = { status: { ready: 5 } };
    const { body } = await call('POST', widgets, widget(name, { size: 1 }, more));
    expect(body.status).toBeUndefined();
    const patched = await call('PATCH', `${widgets}/${name}`, { status: { ready: 6 } });
    expect(patched.body.status).toBeUndefined();
  },

  'a write to the status changes the status alone, and no generation': async (server) => {
    const path = await made(server, { size: 1 });
    const patch = {
      metadata: { labels: { sneaky: 'x' } },
      spec: { size: 9 },
      status: { ready: 3, bogus: 1 },
    };
    const { status, body } = await server.call('PATCH', `${path}/status`, patch);
    expect(status).toBe(200);
    expect(body.status).toEqual({ ready: 3 });
    expect(body.spec.size).toBe(1);
    expect(body.metadata.labels).toBeUndefined();
    expect(body.metadata.generation).toBe(1);
    const put = { ...body, status: { ready: 4 }, spec: { size: 50 } };
    const { body: after } = await server.call('PUT', `${path}/status`, put);
    expect([after.status, after.spec.size]).toEqual([{ ready: 4 }, 1]);
    expect((await server.call('GET', `${path}/status`)).body.status).toEqual({ ready: 4 });
  },

  'the generation counts changes of the spec, not of metadata': async (server) => {
    const path = await made(server, { size: 1 });
    const generation = async (patch: object) =>
      (await server.call('PATCH', path, patch)).body.metadata.generation;
    expect(await generation({ metadata: { labels: { a: 'b' } } })).toBe(1);
    expect(await generation({ spec: { size: 2 } })).toBe(2);
    expect(await generation({ spec: { size: 2 } })).toBe(2);
  },

  'a status is refused where there is none': async (server) => {
    const plural = `${unique('bare').replaceAll('-', '')}s`;
    const kind = `B${plural.slice(1, -1)}`;
    expect((await server.call('POST', crds, openCrd(plural, kind))).status).toBe(201);
    const path = `/apis/ex.dev/v1/${plural}`;
    await served(server, path);
    const object = {
      apiVersion: 'ex.dev/v1',
      kind,
      metadata: { name: 'x' },
      anything: 1,
      status: { a: 1 },
    };
    const { body } = await server.call('POST', path, object);
    expect([body.anything, body.status]).toEqual([1, { a: 1 }]);
    expect((await server.call('GET', `${path}/x/status`)).status).toBe(404);
    const patched = await server.call('PATCH', `${path}/x`, { status: { a: 2 } });
    expect(patched.body.metadata.generation).toBe(2);
    await server.call('DELETE', `${crds}/${plural}.ex.dev`);
  },

  'a definition that goes takes its objects with it': async (server) => {
    const plural = `${unique('gone').replaceAll('-', '')}s`;
    const kind = `G${plural.slice(1, -1)}`;
    await server.call('POST', crds, openCrd(plural, kind));
    const path = `/apis/ex.dev/v1/${plural}`;
    await served(server, path);
    await server.call('POST', path, { apiVersion: 'ex.dev/v1', kind, metadata: { name: 'x' } });
    const { body } = await server.call('DELETE', `${crds}/${plural}.ex.dev`);
    expect(body.metadata?.finalizers ?? []).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await expect
      .poll(async () => (await server.call('GET', `${crds}/${plural}.ex.dev`)).status, {
        timeout: 30_000,
      })
      .toBe(404);
    await expect.poll(async () => (await server.call('GET', path)).status).toBe(404);
  },

  'definitions that cannot work are refused': async ({ call }) => {
    const refused = async (change: (crd: Body) => void) => {
      const crd = structuredClone(widgetCrd) as Body;
      crd.metadata.name = 'gadgets.ex.dev';
      crd.spec.names = { kind: 'Gadget', plural: 'gadgets' };
      change(crd);
      const { status, body } = await call('POST', crds, crd);
      return `${status} ${body.message ?? ''}`;
    };
    const schema = (crd: Body) => crd.spec.versions[0].schema.openAPIV3Schema;
    expect(await refused((crd) => (crd.metadata.name = 'other.ex.dev'))).toMatch(
      /^422 .*metadata\.name: Invalid value: "other\.ex\.dev": must be spec\.names\.plural\+"\."\+spec\.group/,
    );
    expect(await refused((crd) => (crd.spec.versions[0].storage = false))).toMatch(
      /^422 .*must have exactly one version marked as storage version/,
    );
    expect(await refused((crd) => (crd.spec.scope = 'Galaxy'))).toMatch(
      /^422 .*spec\.scope: Unsupported value: "Galaxy"/,
    );
    expect(await refused((crd) => delete schema(crd).properties.spec.properties.size.type)).toMatch(
      /^422 .*size\]\.type: Required value: must not be empty for specified object fields/,
    );
    expect(
      await refused((crd) => (schema(crd).properties.spec.properties.size.type = 'whole')),
    ).toMatch(/^422 .*size\]\.type: Unsupported value: "whole": supported values: "array", /);
    expect(
      await refused(
        (crd) => (schema(crd).properties.spec['x-kubernetes-validations'][0].rule = 'self.size >'),
      ),
    ).toMatch(/^422 .*x-kubernetes-validations\[0\]\.rule: Invalid value: .*compilation failed/s);
    expect(
      await refused(
        (crd) =>
          (schema(crd).properties.spec['x-kubernetes-validations'][0].rule = 'nope(self.size)'),
      ),
    ).toMatch(/^422 .*x-kubernetes-validations\[0\]\.rule: Invalid value: .*compilation failed/s);
  },

  'a definition can be changed in place, and serves the new one': async (server) => {
    const plural = `${unique('grow').replaceAll('-', '')}s`;
    const kind = `R${plural.slice(1, -1)}`;
    const schema = (limit: number) => ({
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: { n: { type: 'integer', maximum: limit } },
        },
      },
    });
    await server.call('POST', crds, openCrd(plural, kind, schema(1)));
    const path = `/apis/ex.dev/v1/${plural}`;
    await served(server, path);
    const attempt = async () => {
      const object = { apiVersion: 'ex.dev/v1', kind, metadata: { name: unique('x') }, n: 5 };
      return (await server.call('POST', path, object)).status;
    };
    expect(await attempt()).toBe(422);
    const wider = { spec: { versions: openCrd(plural, kind, schema(9)).spec.versions } };
    expect((await server.call('PATCH', `${crds}/${plural}.ex.dev`, wider)).status).toBe(200);
    await expect.poll(attempt).toBe(201);
    await server.call('DELETE', `${crds}/${plural}.ex.dev`);
  },

  'a stricter schema spares what is there and stays as it is': async (server) => {
    const plural = `${unique('strict').replaceAll('-', '')}s`;
    const kind = `S${plural.slice(1, -1)}`;
    const schema = (limit: number, rules: object[]) => ({
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties: {
                n: { type: 'integer', maximum: limit, 'x-kubernetes-validations': rules },
                other: { type: 'string' },
              },
            },
          },
        },
      },
    });
    await server.call('POST', crds, openCrd(plural, kind, schema(9, [])));
    const path = `/apis/ex.dev/v1/${plural}`;
    await served(server, path);
    const object = (n: number) => ({
      apiVersion: 'ex.dev/v1',
      kind,
      metadata: { name: unique('x') },
      spec: { n },
    });
    const { body } = await server.call('POST', path, object(9));
    const rules = [{ rule: 'self < 5', message: 'below five' }];
    const stricter = { spec: { versions: openCrd(plural, kind, schema(5, rules)).spec.versions } };
    await server.call('PATCH', `${crds}/${plural}.ex.dev`, stricter);
    await expect.poll(async () => (await server.call('POST', path, object(9))).status).toBe(422);
    const change = (patch: object) => server.call('PATCH', `${path}/${body.metadata.name}`, patch);
    expect((await change({ metadata: { labels: { a: 'b' } } })).status).toBe(200);
    expect((await change({ spec: { other: 'x' } })).status).toBe(200);
    expect((await change({ spec: { n: 8 } })).status).toBe(422);
    expect((await change({ spec: { n: 4 } })).status).toBe(200);
    expect((await change({ spec: { n: 9 } })).status).toBe(422);
    await server.call('DELETE', `${crds}/${plural}.ex.dev`);
  },

  'two versions of one resource show the same objects': async (server) => {
    const plural = `${unique('two').replaceAll('-', '')}s`;
    const kind = `T${plural.slice(1, -1)}`;
    const crd = openCrd(plural, kind) as Body;
    crd.spec.versions.push({ ...crd.spec.versions[0], name: 'v1beta1', storage: false });
    expect((await server.call('POST', crds, crd)).status).toBe(201);
    const path = (version: string) => `/apis/ex.dev/${version}/${plural}`;
    await served(server, path('v1beta1'));
    const object = { apiVersion: 'ex.dev/v1beta1', kind, metadata: { name: 'x' }, n: 1 };
    const { body } = await server.call('POST', path('v1beta1'), object);
    expect(body.apiVersion).toBe('ex.dev/v1beta1');
    const { body: other } = await server.call('GET', `${path('v1')}/x`);
    expect([other.apiVersion, other.n]).toEqual(['ex.dev/v1', 1]);
    const { body: list } = await server.call('GET', path('v1beta1'));
    expect(list.items[0].apiVersion).toBe('ex.dev/v1beta1');
    await server.call('DELETE', `${crds}/${plural}.ex.dev`);
  },
};
