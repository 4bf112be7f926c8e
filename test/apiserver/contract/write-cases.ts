import { expect } from 'vitest';
import type { Body } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, node, nodes, unique, widget, widgets } from './objects.ts';

export const writeCases: Cases = {
  'a created object gets uid, time, version and namespace': async ({ call }) => {
    const name = unique('made');
    const { status, body } = await call('POST', configMaps, configMap(name, { a: 'b' }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      data: { a: 'b' },
      metadata: {
        name,
        namespace: 'default',
        uid: expect.stringMatching(/^[0-9a-f]{8}-/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    });
    expect(body.metadata.generation).toBeUndefined();
    expect((await call('GET', `${configMaps}/${name}`)).body).toEqual(body);
  },

  'a second object of one name is refused': async ({ call }) => {
    const name = unique('twice');
    await call('POST', nodes, node(name));
    expect(await call('POST', nodes, node(name))).toMatchObject({
      status: 409,
      body: {
        kind: 'Status',
        status: 'Failure',
        reason: 'AlreadyExists',
        message: `nodes "${name}" already exists`,
        details: { name, kind: 'nodes' },
        code: 409,
      },
    });
  },

  'generateName makes names that differ': async ({ call }) => {
    const prefix = `${unique('gen')}-`;
    const body = { ...configMap(''), metadata: { generateName: prefix } };
    const [one, two] = [await call('POST', configMaps, body), await call('POST', configMaps, body)];
    for (const { body: made } of [one, two]) {
      expect(made.metadata.name).toMatch(new RegExp(`^${prefix}[a-z0-9]{5}$`));
      expect(made.metadata.generateName).toBe(prefix);
    }
    expect(one.body.metadata.name).not.toBe(two.body.metadata.name);
  },

  'what only the server may set is ignored on create': async ({ call }) => {
    const name = unique('meddle');
    const more = {
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 7,
      selfLink: '/x',
    };
    const { body } = await call('POST', configMaps, configMap(name, {}, more));
    expect(body.metadata.uid).not.toBe('mine');
    expect(body.metadata.creationTimestamp).not.toContain('2001');
    expect(body.metadata.selfLink).toBeUndefined();
  },

  'an object without a name is refused with the field': async ({ call }) => {
    expect(
      await call('POST', nodes, { apiVersion: 'v1', kind: 'Node', metadata: {} }),
    ).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        message: expect.stringContaining(
          'metadata.name: Required value: name or generateName is required',
        ),
      },
    });
  },

  'a bad name, label or annotation is refused with the field and the value': async ({ call }) => {
    const bad = await call('POST', nodes, node('Bad_Name'));
    expect(bad.status).toBe(422);
    expect(bad.body.details.causes).toEqual([
      {
        reason: 'FieldValueInvalid',
        field: 'metadata.name',
        message: expect.stringMatching(
          /^Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist/,
        ),
      },
    ]);
    const label = await call(
      'POST',
      nodes,
      node(unique('l'), {}, { labels: { 'a/b/c': 'x', ok: '-no' } }),
    );
    expect(label.status).toBe(422);
    const fields = label.body.details.causes.map((cause: { field: string }) => cause.field);
    expect(fields).toEqual(['metadata.labels', 'metadata.labels']);
  },

  'a body of another kind, version or namespace is refused': async ({ call }) => {
    expect((await call('POST', nodes, configMap(unique('x')))).status).toBe(400);
    const other = { ...node(unique('x')), apiVersion: 'v2' };
    expect((await call('POST', nodes, other)).status).toBe(400);
    const elsewhere = configMap(unique('x'), {}, { namespace: 'kube-system' });
    expect(await call('POST', configMaps, elsewhere)).toMatchObject({
      status: 400,
      body: {
        reason: 'BadRequest',
        message:
          'the namespace of the provided object does not match the namespace sent on the request',
      },
    });
  },

  'nothing is created in a namespace that is not there': async ({ call }) => {
    const path = '/api/v1/namespaces/nowhere/configmaps';
    expect(await call('POST', path, configMap(unique('x')))).toMatchObject({
      status: 404,
      body: { reason: 'NotFound', message: 'namespaces "nowhere" not found' },
    });
  },

  'a body that is no JSON is a bad request': async ({ call }) => {
    expect(await call('POST', nodes, '{nope')).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest' },
    });
  },

  'a body in an unknown format is refused': async ({ call }) => {
    const answer = await call('POST', nodes, 'hello', { type: 'text/plain' });
    expect(answer).toMatchObject({ status: 415, body: { reason: 'UnsupportedMediaType' } });
  },

  'a body in YAML is read': async ({ call }) => {
    const name = unique('yaml');
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n`;
    const answer = await call('POST', configMaps, text, { type: 'application/yaml' });
    expect(answer).toMatchObject({ status: 201, body: { data: { a: '1' } } });
  },

  'an update needs the version it started from': async ({ call }) => {
    const name = unique('cas');
    const { body: first } = await call('POST', configMaps, configMap(name, { n: '1' }));
    const path = `${configMaps}/${name}`;
    const second = await call('PUT', path, { ...first, data: { n: '2' } });
    expect(second.status).toBe(200);
    expect(Number(second.body.metadata.resourceVersion)).toBeGreaterThan(
      Number(first.metadata.resourceVersion),
    );
    expect(await call('PUT', path, { ...first, data: { n: '3' } })).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message: `Operation cannot be fulfilled on configmaps "${name}": the object has been modified; please apply your changes to the latest version and try again`,
      },
    });
    expect((await call('GET', path)).body.data).toEqual({ n: '2' });
  },

  'an update without a version overwrites built-in kinds, and is refused for custom ones': async ({
    call,
  }) => {
    const name = unique('blind');
    await call('POST', configMaps, configMap(name, { n: '1' }));
    const blind = await call('PUT', `${configMaps}/${name}`, configMap(name, { n: '2' }));
    expect(blind).toMatchObject({ status: 200, body: { data: { n: '2' } } });
    await call('POST', widgets, widget(name, { size: 1 }));
    expect(await call('PUT', `${widgets}/${name}`, widget(name, { size: 2 }))).toMatchObject({
      status: 422,
      body: {
        message: `widgets.ex.dev "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
      },
    });
  },

  'an update for another uid is refused': async ({ call }) => {
    const name = unique('uid');
    const { body } = await call('POST', configMaps, configMap(name));
    const other = { ...body, metadata: { ...body.metadata, uid: 'other' } };
    const answer = await call('PUT', `${configMaps}/${name}`, other);
    expect(answer.status).toBe(409);
    expect(answer.body.message).toContain('Precondition failed: UID in precondition: other');
  },

  'an update that changes nothing makes no new version': async ({ call }) => {
    const name = unique('same');
    const { body } = await call('POST', configMaps, configMap(name, { n: '1' }));
    const again = await call('PUT', `${configMaps}/${name}`, body);
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  },

  'an update under another name is refused, and one of nothing is not found': async ({ call }) => {
    const name = unique('put');
    await call('POST', configMaps, configMap(name));
    expect(await call('PUT', `${configMaps}/${name}`, configMap('other'))).toMatchObject({
      status: 400,
      body: {
        message: `the name of the object (other) does not match the name on the URL (${name})`,
      },
    });
    expect(await call('PUT', `${configMaps}/nobody`, configMap('nobody'))).toMatchObject({
      status: 404,
      body: {
        message: 'configmaps "nobody" not found',
        details: { name: 'nobody', kind: 'configmaps' },
      },
    });
  },

  'a lease is made by an update where there is none': async ({ call }) => {
    const name = unique('lease');
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec: {
        holderIdentity: 'me',
        leaseDurationSeconds: 15,
        renewTime: '2026-01-01T00:00:00.123456Z',
      },
    };
    const made = await call('PUT', `${path}/${name}`, lease);
    expect(made).toMatchObject({ status: 201, body: { spec: lease.spec } });
    const bad = { ...lease, metadata: { name: unique('l') }, spec: { leaseDurationSeconds: 0 } };
    expect(await call('POST', path, bad)).toMatchObject({
      status: 422,
      body: {
        message: expect.stringContaining(
          'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
        ),
      },
    });
  },

  'a dry run answers as if, and keeps nothing': async ({ call }) => {
    const name = unique('dry');
    const made = await call('POST', `${configMaps}?dryRun=All`, configMap(name, { a: 'b' }));
    expect(made).toMatchObject({ status: 201, body: { metadata: { name }, data: { a: 'b' } } });
    expect((await call('GET', `${configMaps}/${name}`)).status).toBe(404);
    await call('POST', configMaps, configMap(name, { a: 'b' }));
    const patched = await call('PATCH', `${configMaps}/${name}?dryRun=All`, { data: { a: 'c' } });
    expect(patched.body.data).toEqual({ a: 'c' });
    expect((await call('DELETE', `${configMaps}/${name}?dryRun=All`)).status).toBe(200);
    expect((await call('GET', `${configMaps}/${name}`)).body.data).toEqual({ a: 'b' });
    expect(await call('POST', `${widgets}?dryRun=All`, widget(name, { size: 0 }))).toMatchObject({
      status: 422,
    });
  },

  'unknown fields are dropped, told of, or refused, as the client likes': async ({ call }) => {
    const odd = (name: string) => ({ ...node(name, { oddity: 1, unschedulable: true }) });
    const told = await call('POST', `${nodes}?fieldValidation=Warn`, odd(unique('odd')));
    expect(told).toMatchObject({ status: 201, body: { spec: { unschedulable: true } } });
    expect(told.body.spec.oddity).toBeUndefined();
    expect(String(told.headers.warning)).toContain('unknown field \\"spec.oddity\\"');
    const silent = await call('POST', `${nodes}?fieldValidation=Ignore`, odd(unique('odd')));
    expect([silent.status, silent.headers.warning]).toEqual([201, undefined]);
    const strict = await call('POST', `${nodes}?fieldValidation=Strict`, odd(unique('odd')));
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('strict decoding error: unknown field "spec.oddity"');
  },

  'whoever has no token is turned away': async ({ call }) => {
    expect(await call('GET', nodes, undefined, { token: 'guess' })).toMatchObject({
      status: 401,
      body: { kind: 'Status', reason: 'Unauthorized', code: 401 },
    });
  },

  'a method that a resource does not have is refused': async ({ call }) => {
    expect(await call('PUT', nodes, node('x'))).toMatchObject({
      status: 405,
      body: { reason: 'MethodNotAllowed' },
    });
  },

  'owners of fields are recorded, each with what it wrote': async ({ call }) => {
    const name = unique('owned');
    const path = `${configMaps}/${name}`;
    await call('POST', `${configMaps}?fieldManager=one`, configMap(name, { a: '1', b: '1' }));
    const { body } = await call('PATCH', `${path}?fieldManager=two`, { data: { b: '2', c: '2' } });
    const owners = body.metadata.managedFields.map(
      ({
        manager,
        operation,
        fieldsV1,
      }: {
        manager: string;
        operation: string;
        fieldsV1: Record<string, object>;
      }) => [
        manager,
        operation,
        Object.keys(fieldsV1['f:data'] ?? {})
          .filter((key) => key !== '.')
          .sort(),
      ],
    );
    expect(owners).toEqual([
      ['one', 'Update', ['f:a']],
      ['two', 'Update', ['f:b', 'f:c']],
    ]);
    const { body: agent } = await call('PATCH', path, { data: { a: '3' } }, { agent: 'hand/2.0' });
    const withA = agent.metadata.managedFields
      .filter(({ fieldsV1 }: Body) => fieldsV1['f:data']?.['f:a'] !== undefined)
      .map(({ manager }: Body) => manager);
    expect(withA).toEqual(['hand']);
  },

  'an owner is named in full, or refused once for each field': async ({ call }) => {
    const name = unique('owned');
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name };
    const owned = { ...widget(name, { size: 1 }), metadata: { name, ownerReferences: [owner] } };
    for (const [path, object] of [
      [widgets, owned],
      [configMaps, configMap(name, {}, { ownerReferences: [owner] })],
    ] as const) {
      const { status, body } = await call('POST', path, object);
      expect([status, body.details?.causes]).toEqual([
        422,
        [
          {
            field: 'metadata.ownerReferences.uid',
            reason: 'FieldValueInvalid',
            message: 'Invalid value: "": must not be empty',
          },
        ],
      ]);
    }
  },
};
