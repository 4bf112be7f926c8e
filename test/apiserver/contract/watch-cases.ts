import { expect } from 'vitest';
import type { Body, Server } from '../server.ts';
import type { Cases } from './contract.ts';
import { configMap, configMaps, unique } from './objects.ts';

const told = (events: { type: string; object: Body }[]) =>
  events.map(({ type, object }) => `${type} ${object.metadata.name}`);

async function versionNow({ call }: Server): Promise<string> {
  return (await call('GET', `${configMaps}?limit=1`)).body.metadata.resourceVersion;
}

const labelled = (name: string, group: string) => configMap(name, {}, { labels: { group } });

export const watchCases: Cases = {
  'a watch from a version tells all that happened since, and all that happens': async (server) => {
    const group = unique('watch');
    const from = await versionNow(server);
    await server.call('POST', configMaps, labelled(`${group}-a`, group));
    const query = `${configMaps}?watch=true&resourceVersion=${from}&labelSelector=group=${group}`;
    const watch = await server.watch(query);
    await watch.until(1);
    await server.call('PATCH', `${configMaps}/${group}-a`, { data: { x: '1' } });
    await server.call('DELETE', `${configMaps}/${group}-a`);
    const events = await watch.until(3);
    expect(told(events)).toEqual([`ADDED ${group}-a`, `MODIFIED ${group}-a`, `DELETED ${group}-a`]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(3);
    expect(events[2]?.object.data).toEqual({ x: '1' });
    expect(events[0]?.object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
    watch.stop();
  },

  'a watch without a version begins with what is there': async (server) => {
    const group = unique('watch');
    await server.call('POST', configMaps, labelled(`${group}-a`, group));
    const watch = await server.watch(`${configMaps}?watch=1&labelSelector=group=${group}`);
    await watch.until(1);
    await server.call('POST', configMaps, labelled(`${group}-b`, group));
    expect(told(await watch.until(2))).toEqual([`ADDED ${group}-a`, `ADDED ${group}-b`]);
    watch.stop();
  },

  // After a restored backup: kube/list-watch has to find out by itself that this is so.
  'a watch from a version yet to come is accepted, and silent': async (server) => {
    const group = unique('watch');
    const version = Number(await versionNow(server)) + 1_000_000;
    const selected = `labelSelector=group=${group}`;
    const future = `${configMaps}?watch=true&resourceVersion=${version}&${selected}`;
    const [deaf, other] = [
      await server.watch(future),
      await server.watch(`${configMaps}?watch=true&${selected}`),
    ];
    await server.call('POST', configMaps, labelled(`${group}-a`, group));
    await other.until(1);
    expect(deaf.events).toEqual([]);
    deaf.stop();
    other.stop();
  },

  'an object comes and goes as it begins and ceases to match': async (server) => {
    const group = unique('watch');
    const name = `${group}-a`;
    const from = await versionNow(server);
    const watch = await server.watch(
      `${configMaps}?watch=true&resourceVersion=${from}&labelSelector=group=${group}`,
    );
    await server.call('POST', configMaps, configMap(name, { n: '1' }));
    const label = (value: string | null, n: string) =>
      server.call('PATCH', `${configMaps}/${name}`, {
        metadata: { labels: { group: value } },
        data: { n },
      });
    await label(group, '2');
    await label(group, '3');
    await label('other', '4');
    await label(group, '5');
    const events = await watch.until(4);
    expect(events.map(({ type, object }) => `${type} ${object.data.n}`)).toEqual([
      'ADDED 2',
      'MODIFIED 3',
      // As it was while it matched.
      'DELETED 3',
      'ADDED 5',
    ]);
    watch.stop();
  },

  'a watch of one object by its name': async (server) => {
    const name = unique('watch');
    const from = await versionNow(server);
    const selector = encodeURIComponent(`metadata.name=${name}`);
    const watch = await server.watch(
      `${configMaps}?watch=true&resourceVersion=${from}&fieldSelector=${selector}`,
    );
    await server.call('POST', configMaps, configMap(unique('other')));
    await server.call('POST', configMaps, configMap(name));
    expect(told(await watch.until(1))).toEqual([`ADDED ${name}`]);
    watch.stop();
  },

  'a watch ends when its time is over': async (server) => {
    const from = await versionNow(server);
    const watch = await server.watch(
      `${configMaps}?watch=true&resourceVersion=${from}&timeoutSeconds=1&labelSelector=group=${unique('none')}`,
    );
    await watch.ended;
    expect(watch.events).toEqual([]);
  },

  'a version that is no number is refused': async ({ call }) => {
    const answer = await call('GET', `${configMaps}?watch=true&resourceVersion=abc`);
    expect(answer.status).toBeGreaterThanOrEqual(400);
  },

  'initial events, then a bookmark that says so, then the rest': async (server) => {
    const group = unique('watch');
    await server.call('POST', configMaps, labelled(`${group}-a`, group));
    const watch = await server.watch(
      `${configMaps}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&labelSelector=group=${group}`,
    );
    const [first, mark] = await watch.until(2);
    expect(first).toMatchObject({ type: 'ADDED', object: { metadata: { name: `${group}-a` } } });
    expect(mark).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    await server.call('POST', configMaps, labelled(`${group}-b`, group));
    expect((await watch.until(3))[2]).toMatchObject({ type: 'ADDED' });
    watch.stop();
  },

  'a watch in tables tells the columns first': async (server) => {
    const group = unique('watch');
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    await server.call('POST', configMaps, labelled(`${group}-a`, group));
    await server.call('POST', configMaps, labelled(`${group}-b`, group));
    const watch = await server.watch(`${configMaps}?watch=true&labelSelector=group=${group}`, {
      accept,
    });
    const [first, second] = await watch.until(2);
    expect(first?.object.kind).toBe('Table');
    expect(first?.object.columnDefinitions.length).toBeGreaterThan(1);
    expect(first?.object.rows[0].cells[0]).toBe(`${group}-a`);
    expect(second?.object.columnDefinitions ?? []).toEqual([]);
    watch.stop();
  },

  'a watch of metadata alone': async (server) => {
    const group = unique('watch');
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    await server.call(
      'POST',
      configMaps,
      configMap(`${group}-a`, { big: 'x' }, { labels: { group } }),
    );
    const watch = await server.watch(`${configMaps}?watch=true&labelSelector=group=${group}`, {
      accept,
    });
    const [first] = await watch.until(1);
    expect(first?.object).toMatchObject({ kind: 'PartialObjectMetadata' });
    expect(first?.object.data).toBeUndefined();
    watch.stop();
  },
};
