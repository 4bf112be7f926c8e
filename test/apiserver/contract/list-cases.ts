import { expect } from 'vitest';
import type { Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, node, nodes, unique, widget, widgets } from './objects.ts';

const names = (body: Body) =>
  body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

/** Five objects of one label, in order. */
async function five(
  { call }: Server,
  labels: object = {},
): Promise<{ group: string; all: string[] }> {
  const group = unique('five');
  const all = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${group}-${letter}`);
  for (const name of [...all].reverse()) {
    await call('POST', configMaps, configMap(name, {}, { labels: { group, name, ...labels } }));
  }
  return { group, all };
}

export const listCases: Cases = {
  'a list is in the order of names, and of one moment': async (server) => {
    const { group, all } = await five(server);
    const { body } = await server.call('GET', `${configMaps}?labelSelector=group=${group}`);
    expect(body).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(names(body)).toEqual(all);
    const versions = body.items.map((item: Body) => Number(item.metadata.resourceVersion));
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThanOrEqual(Math.max(...versions));
  },

  'pages are all of the moment of the first': async (server) => {
    const { group, all } = await five(server);
    const query = `${configMaps}?labelSelector=group=${group}&limit=2`;
    const { body: first } = await server.call('GET', query);
    expect(names(first)).toEqual(all.slice(0, 2));
    await server.call('DELETE', `${configMaps}/${all[2]}`);
    await server.call('POST', configMaps, configMap(`${group}-cc`, {}, { labels: { group } }));
    await server.call('PATCH', `${configMaps}/${all[3]}`, { data: { late: 'x' } });
    const next = (token: string) =>
      server.call('GET', `${query}&continue=${encodeURIComponent(token)}`);
    const { body: second } = await next(first.metadata.continue);
    expect(names(second)).toEqual(all.slice(2, 4));
    expect(second.items[1].data).toBeUndefined();
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const { body: third } = await next(second.metadata.continue);
    expect(names(third)).toEqual(all.slice(4));
    expect(third.metadata.continue ?? '').toBe('');
  },

  'a page without selectors says how many are left': async (server) => {
    const space = unique('space');
    await server.call('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: space },
    });
    const path = `/api/v1/namespaces/${space}/secrets`;
    for (const name of ['a', 'b', 'c', 'd']) {
      await server.call('POST', path, { apiVersion: 'v1', kind: 'Secret', metadata: { name } });
    }
    const { body } = await server.call('GET', `${path}?limit=1`);
    expect(body.metadata.remainingItemCount).toBe(3);
  },

  'a token that was made up is refused': async ({ call }) => {
    const answer = await call('GET', `${nodes}?limit=1&continue=abc`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('continue key is not valid');
  },

  'label selectors of every kind': async (server) => {
    const group = unique('sel');
    const make = (name: string, labels: object) =>
      server.call(
        'POST',
        configMaps,
        configMap(`${group}-${name}`, {}, { labels: { group, ...labels } }),
      );
    await make('a', { rack: '83', env: 'prod' });
    await make('b', { rack: '94', env: 'test' });
    await make('c', { rack: '95' });
    const select = async (selector: string) => {
      const all = encodeURIComponent(`group=${group},${selector}`);
      const { body } = await server.call('GET', `${configMaps}?labelSelector=${all}`);
      return names(body)
        .map((name: string) => name.slice(-1))
        .join('');
    };
    expect(await select('rack=83')).toBe('a');
    expect(await select('rack==94')).toBe('b');
    expect(await select('rack!=83')).toBe('bc');
    expect(await select('rack in (83, 95)')).toBe('ac');
    expect(await select('rack notin (83,95)')).toBe('b');
    expect(await select('env')).toBe('ab');
    expect(await select('!env')).toBe('c');
    expect(await select('env!=prod')).toBe('bc');
    expect(await select('env notin (prod)')).toBe('bc');
    expect(await select('rack in (83,94),env=test')).toBe('b');
    expect(await select('rack>90')).toBe('bc');
  },

  'a selector that cannot be read is refused': async ({ call }) => {
    const answer = await call('GET', `${nodes}?labelSelector=${encodeURIComponent('a b')}`);
    expect(answer).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(answer.body.message).toContain('unable to parse requirement');
  },

  'field selectors: by name, by what the kind offers, and no others': async ({ call }) => {
    const name = unique('field');
    await call('POST', nodes, node(name, { unschedulable: true }));
    await call('POST', widgets, widget(name, { size: 1 }));
    const select = (path: string, selector: string) =>
      call('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`);
    expect(names((await select(nodes, `metadata.name=${name}`)).body)).toEqual([name]);
    expect(names((await select(widgets, `metadata.name=${name}`)).body)).toEqual([name]);
    expect(names((await select(nodes, 'spec.unschedulable=true')).body)).toContain(name);
    expect(names((await select(nodes, `metadata.name!=${name}`)).body)).not.toContain(name);
    const refused = await select(nodes, 'spec.podCIDR=10.0.0.0/24');
    expect(refused).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(refused.body.message).toContain('field label not supported: spec.podCIDR');
  },

  'all namespaces, or one': async ({ call }) => {
    const name = unique('spread');
    for (const space of ['default', 'kube-public']) {
      await call('POST', `/api/v1/namespaces/${space}/configmaps`, configMap(name));
    }
    const found = async (path: string) => {
      const query = `${path}?fieldSelector=metadata.name=${name}`;
      const { body } = await call('GET', query);
      return body.items.map(({ metadata }: Body) => metadata.namespace);
    };
    expect(await found('/api/v1/configmaps')).toEqual(['default', 'kube-public']);
    expect(await found(configMaps)).toEqual(['default']);
    expect(await found('/api/v1/namespaces/nowhere/configmaps')).toEqual([]);
  },

  'a list at a version not older than one that was seen': async (server) => {
    const { group, all } = await five(server);
    const { body } = await server.call('GET', `${configMaps}/${all[0]}`);
    const query = `${configMaps}?labelSelector=group=${group}&resourceVersion=`;
    for (const version of [body.metadata.resourceVersion, '0']) {
      expect(names((await server.call('GET', `${query}${version}`)).body)).toEqual(all);
    }
  },

  'a list at exactly a version is as it was then': async (server) => {
    const { group, all } = await five(server);
    const { body } = await server.call('GET', `${configMaps}?labelSelector=group=${group}`);
    await server.call('DELETE', `${configMaps}/${all[0]}`);
    const version = `resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const then = await server.call(
      'GET',
      `${configMaps}?labelSelector=group=${group}&limit=10&${version}`,
    );
    expect(names(then.body)).toEqual(all);
  },

  'only the metadata, of one and of many': async (server) => {
    const { group, all } = await five(server);
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const { body } = await server.call('GET', `${configMaps}/${all[0]}`, undefined, { accept });
    expect(body).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: all[0] },
    });
    expect(body.data).toBeUndefined();
    const many = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const query = `${configMaps}?labelSelector=group=${group}`;
    const { body: list } = await server.call('GET', query, undefined, { accept: many });
    expect(list.kind).toBe('PartialObjectMetadataList');
    expect(names(list)).toEqual(all);
  },

  'a table, with the columns of the kind': async ({ call }) => {
    const name = unique('table');
    await call(
      'POST',
      widgets,
      widget(name, { size: 3, tags: ['aa', 'bb'], parts: [{ name: 'p' }] }),
    );
    const up = { status: { conditions: [{ type: 'Up', status: 'False' }] } };
    await call('PATCH', `${widgets}/${name}/status`, up);
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { body } = await call('GET', `${widgets}/${name}`, undefined, { accept });
    expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    const columns = body.columnDefinitions.map(({ name: title, type, priority }: Body) => [
      title,
      type,
      priority,
    ]);
    expect(columns).toEqual([
      ['Name', 'string', 0],
      ['Size', 'integer', 0],
      ['Tags', 'string', 0],
      ['Up', 'string', 0],
      ['First', 'string', 1],
      ['Age', 'date', 0],
    ]);
    expect(body.rows).toHaveLength(1);
    expect(body.rows[0].cells).toEqual([
      name,
      3,
      '["aa","bb"]',
      'False',
      'p',
      expect.stringMatching(/^\d+s$/),
    ]);
    expect(body.rows[0].object).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name },
    });
  },
};
