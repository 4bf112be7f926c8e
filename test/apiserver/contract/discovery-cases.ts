import { expect } from 'vitest';
import type { Body } from '../server.ts';
import type { Cases } from './contract.ts';
import { nodes } from './objects.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export const discoveryCases: Cases = {
  'health is told to everybody': async ({ call }) => {
    for (const path of ['/healthz', '/livez', '/readyz']) {
      const { status, body } = await call('GET', path);
      expect([status, body]).toEqual([200, 'ok']);
    }
    expect((await call('GET', '/version')).body).toMatchObject({ major: '1', minor: '36' });
  },

  'groups and versions, one by one': async ({ call }) => {
    expect((await call('GET', '/api')).body).toMatchObject({
      kind: 'APIVersions',
      versions: ['v1'],
    });
    const { body } = await call('GET', '/apis');
    expect(body.kind).toBe('APIGroupList');
    const found = body.groups.find(({ name }: Body) => name === 'ex.dev');
    expect(found.preferredVersion).toEqual({ groupVersion: 'ex.dev/v1', version: 'v1' });
    expect((await call('GET', '/apis/ex.dev')).body).toMatchObject({
      kind: 'APIGroup',
      name: 'ex.dev',
    });
    expect((await call('GET', '/apis/nobody.dev')).status).toBe(404);
  },

  'resources of a version': async ({ call }) => {
    const { body } = await call('GET', '/apis/ex.dev/v1');
    expect(body).toMatchObject({ kind: 'APIResourceList', groupVersion: 'ex.dev/v1' });
    const found = body.resources.find(({ name }: Body) => name === 'widgets');
    expect(found).toMatchObject({
      kind: 'Widget',
      singularName: 'widget',
      namespaced: true,
      shortNames: ['wd'],
    });
    expect([...found.verbs].sort()).toEqual([
      'create',
      'delete',
      'deletecollection',
      'get',
      'list',
      'patch',
      'update',
      'watch',
    ]);
    const names = body.resources.map(({ name }: Body) => name);
    expect(names).toContain('widgets/status');
    const { body: core } = await call('GET', '/api/v1');
    const node = core.resources.find(({ name }: Body) => name === 'nodes');
    expect(node).toMatchObject({ kind: 'Node', namespaced: false, shortNames: ['no'] });
  },

  'everything at once, as kubectl asks': async ({ call }) => {
    const { body, headers } = await call('GET', '/apis', undefined, { accept: aggregated });
    expect(headers['content-type']).toBe(aggregated);
    expect(body.kind).toBe('APIGroupDiscoveryList');
    const group = body.items.find(({ metadata }: Body) => metadata.name === 'ex.dev');
    const found = group.versions[0].resources.find(({ resource }: Body) => resource === 'widgets');
    expect(found).toMatchObject({
      responseKind: { group: 'ex.dev', version: 'v1', kind: 'Widget' },
      scope: 'Namespaced',
      singularResource: 'widget',
      shortNames: ['wd'],
    });
    expect(found.subresources.map(({ subresource }: Body) => subresource)).toEqual(['status']);
    const { body: core } = await call('GET', '/api', undefined, { accept: aggregated });
    const names = core.items[0].versions[0].resources.map(({ resource }: Body) => resource);
    expect(names).toEqual(expect.arrayContaining(['nodes', 'pods', 'configmaps', 'services']));
  },

  'schemas, with merge keys and what a custom kind says of itself': async ({ call }) => {
    const { body: paths } = await call('GET', '/openapi/v3');
    expect(Object.keys(paths.paths)).toEqual(expect.arrayContaining(['api/v1', 'apis/ex.dev/v1']));
    const { body } = await call('GET', '/openapi/v3/apis/ex.dev/v1');
    const { schemas } = body.components;
    const widget = schemas['dev.ex.v1.Widget'];
    expect(widget['x-kubernetes-group-version-kind']).toEqual([
      { group: 'ex.dev', version: 'v1', kind: 'Widget' },
    ]);
    expect(widget.properties.spec.description).toBe('What is wanted of a widget.');
    const patch = body.paths['/apis/ex.dev/v1/namespaces/{namespace}/widgets/{name}'].patch;
    expect(patch.parameters.map(({ name }: Body) => name)).toContain('fieldValidation');
  },

  'who asks, and whether they may': async ({ call }) => {
    const who = await call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    expect(who).toMatchObject({
      status: 201,
      body: { status: { userInfo: { username: 'admin' } } },
    });
    const may = await call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'create', resource: 'nodes' } },
    });
    expect(may).toMatchObject({ status: 201, body: { status: { allowed: true } } });
  },

  'a form nobody serves is not acceptable': async ({ call }) => {
    const answer = await call('GET', nodes, undefined, { accept: 'text/html' });
    expect(answer.status).toBe(406);
  },

  'a resource nobody registered is not there': async ({ call }) => {
    expect((await call('GET', '/apis/ex.dev/v1/gizmos')).status).toBe(404);
    expect((await call('GET', '/api/v1/gizmos')).status).toBe(404);
    expect((await call('GET', `${nodes}/x/gizmo`)).status).toBe(404);
  },
};
