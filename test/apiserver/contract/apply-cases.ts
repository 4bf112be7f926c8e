import { expect } from 'vitest';
import type { Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, unique, widget, widgets } from './objects.ts';

const yaml = { type: 'application/apply-patch+yaml' };

function applier({ call }: Server, path: string, object: (change: object) => object) {
  return (manager: string, change: object, force = false) =>
    call(
      'PATCH',
      `${path}?fieldManager=${manager}${force ? '&force=true' : ''}`,
      object(change),
      yaml,
    );
}

function onConfigMap(server: Server) {
  const name = unique('apply');
  const path = `${configMaps}/${name}`;
  return { path, apply: applier(server, path, (data) => configMap(name, data)) };
}

function onWidget(server: Server) {
  const name = unique('apply');
  const path = `${widgets}/${name}`;
  return { path, apply: applier(server, path, (spec) => widget(name, spec)) };
}

const owners = (body: Body) =>
  body.metadata.managedFields
    .map(
      ({ manager, operation }: { manager: string; operation: string }) => `${manager} ${operation}`,
    )
    .sort();

export const applyCases: Cases = {
  'applying makes what is not there, and says who owns it': async (server) => {
    const { apply } = onConfigMap(server);
    const { status, body } = await apply('one', { a: '1' });
    expect(status).toBe(201);
    expect(body.metadata.managedFields).toMatchObject([
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
    ]);
  },

  'applying the same again changes nothing': async (server) => {
    const { apply } = onConfigMap(server);
    const first = await apply('one', { a: '1' });
    const second = await apply('one', { a: '1' });
    expect(second.status).toBe(200);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  },

  'what is not applied any more goes; what others set stays': async (server) => {
    const { path, apply } = onConfigMap(server);
    await apply('one', { a: '1', b: '1' });
    await server.call('PATCH', `${path}?fieldManager=hand`, { data: { c: '3' } });
    const { body } = await apply('one', { a: '1' });
    expect(body.data).toEqual({ a: '1', c: '3' });
  },

  'what another manager set is a conflict that names it': async (server) => {
    const { path, apply } = onConfigMap(server);
    await apply('one', { a: '1' });
    const refused = await apply('two', { a: '2' });
    expect(refused).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
        details: {
          causes: [
            {
              reason: 'FieldManagerConflict',
              message: 'conflict with "one"',
              field: '.data.a',
            },
          ],
        },
      },
    });
    expect((await server.call('GET', path)).body.data).toEqual({ a: '1' });
  },

  'several conflicts are told together': async (server) => {
    const { apply } = onConfigMap(server);
    await apply('one', { a: '1', b: '1' });
    expect((await apply('two', { a: '2', b: '2' })).body.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b',
    );
  },

  'whoever insists takes the field over': async (server) => {
    const { apply } = onConfigMap(server);
    await apply('one', { a: '1' });
    const { status, body } = await apply('two', { a: '2' }, true);
    expect([status, body.data]).toEqual([200, { a: '2' }]);
    expect(owners(body)).toEqual(['two Apply']);
  },

  'two who want the same share it, and it goes with the last': async (server) => {
    const { apply } = onConfigMap(server);
    await apply('one', { a: '1', x: '1' });
    const { body } = await apply('two', { a: '1', y: '1' });
    expect(owners(body)).toEqual(['one Apply', 'two Apply']);
    expect((await apply('one', { x: '1' })).body.data).toEqual({ a: '1', x: '1', y: '1' });
    expect((await apply('two', { y: '1' })).body.data).toEqual({ x: '1', y: '1' });
  },

  'a plain write takes fields away from who applied them': async (server) => {
    const { path, apply } = onConfigMap(server);
    await apply('one', { a: '1' });
    await server.call('PATCH', `${path}?fieldManager=hand`, { data: { a: '2' } });
    const refused = await apply('one', { a: '1' });
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain('conflict with "hand" using v1');
  },

  'items of a keyed list belong to who applied them': async (server) => {
    const { apply } = onWidget(server);
    const part = (name: string, note: string) => ({ name, note });
    await apply('one', { size: 1, parts: [part('a', 'one'), part('b', 'one')] });
    const both = await apply('two', { size: 1, parts: [part('c', 'two')] });
    const names = ({ body }: { body: Body }) =>
      body.spec.parts.map(({ name }: { name: string }) => name);
    expect(names(both)).toEqual(['a', 'b', 'c']);
    const refused = await apply('two', { size: 1, parts: [part('a', 'two')] });
    expect(refused.body.details.causes[0].field).toBe('.spec.parts[name="a"].note');
    const fewer = await apply('one', { size: 1, parts: [part('b', 'one')] });
    expect(names(fewer)).toEqual(['b', 'c']);
  },

  'items of a set add up': async (server) => {
    const { apply } = onWidget(server);
    await apply('one', { size: 1, tags: ['aa', 'bb'] });
    const { body } = await apply('two', { size: 1, tags: ['cc'] });
    expect(body.spec.tags.sort()).toEqual(['aa', 'bb', 'cc']);
    expect((await apply('one', { size: 1, tags: ['aa'] })).body.spec.tags.sort()).toEqual([
      'aa',
      'cc',
    ]);
  },

  'a plain list is one thing': async (server) => {
    const { apply } = onWidget(server);
    await apply('one', { size: 1, plain: ['a', 'b'] });
    const refused = await apply('two', { size: 1, plain: ['c'] });
    expect(refused.body.details.causes[0].field).toBe('.spec.plain');
  },

  'the status is applied by itself': async (server) => {
    const name = unique('apply');
    await server.call('POST', widgets, widget(name, { size: 1 }));
    const applied = {
      apiVersion: 'ex.dev/v1',
      kind: 'Widget',
      metadata: { name },
      status: { conditions: [{ type: 'Up', status: 'True' }] },
    };
    const path = `${widgets}/${name}/status?fieldManager=st`;
    const { status, body } = await server.call('PATCH', path, applied, yaml);
    expect(status).toBe(200);
    expect(body.status.conditions).toEqual([{ type: 'Up', status: 'True' }]);
    expect(body.spec.size).toBe(1);
    const mine = body.metadata.managedFields.find(
      ({ manager }: { manager: string }) => manager === 'st',
    );
    expect(mine).toMatchObject({ operation: 'Apply', subresource: 'status' });
  },

  'applying without saying who is refused': async ({ call }) => {
    const name = unique('apply');
    const answer = await call('PATCH', `${configMaps}/${name}`, configMap(name), yaml);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(
      'fieldManager: Required value: is required for apply patch',
    );
  },

  'what is applied is judged like anything else': async (server) => {
    const { apply } = onWidget(server);
    expect((await apply('one', { size: 0 })).body.message).toContain('size must be positive');
  },

  'YAML can be applied': async ({ call }) => {
    const name = unique('apply');
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  k: v\n`;
    const answer = await call('PATCH', `${configMaps}/${name}?fieldManager=me`, text, yaml);
    expect(answer).toMatchObject({ status: 201, body: { data: { k: 'v' } } });
  },

  'what no schema knows has no owner, and cannot be applied at all': async ({ call }) => {
    const name = unique('apply');
    for (const [path, object, why] of [
      [configMaps, { ...configMap(name), bogus: 1 }, '.bogus: field not declared in schema'],
      [widgets, widget(name, { size: 1, odd: 1 }), '.spec.odd: field not declared in schema'],
      [widgets, widget(name, { size: 'big' }), '.spec.size: '],
    ] as const) {
      const lenient = `${path}/${name}?fieldManager=one&fieldValidation=Ignore`;
      const { status, body } = await call('PATCH', lenient, object, yaml);
      expect([status, body.message]).toEqual([500, expect.stringContaining(why)]);
      expect(body.message).toMatch(/^failed to create typed patch object \(/);
      expect((await call('GET', `${path}/${name}`)).status).toBe(404);
    }
  },

  'null says nothing, as in files that were generated': async ({ call }) => {
    const name = unique('apply');
    const object = widget(name, { size: 1, mode: null });
    const generated = { ...object, metadata: { name, creationTimestamp: null }, status: {} };
    const { status, body } = await call(
      'PATCH',
      `${widgets}/${name}?fieldManager=one`,
      generated,
      yaml,
    );
    expect([status, body.spec]).toEqual([201, { size: 1, mode: 'a' }]);
  },
};
