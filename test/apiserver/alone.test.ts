/** What the embedded server does alone, where a real cluster has other processes for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import {
  configMap,
  configMaps,
  crds,
  node,
  nodes,
  unique,
  widget,
  widgetCrd,
  widgets,
} from './contract/objects.ts';
import { type Body, callOn, watchOn } from './server.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-alone-'));
let api: ApiServer;
const start = () => startApiServer({ dataDir: dir, historyLimit: 20 });

beforeAll(async () => {
  api = await start();
  await call('POST', crds, widgetCrd);
});

afterAll(async () => {
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const call = (method: string, path: string, body?: unknown) => callOn(api, method, path, body);
const isThere = async (path: string) => (await call('GET', path)).status === 200;
const gone = (path: string) =>
  expect.poll(async () => (await call('GET', path)).status, { timeout: 30_000 }).toBe(404);

const ownedBy = (owner: Body, more: object = {}) => ({
  ownerReferences: [
    {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      ...more,
    },
  ],
});

async function family(more: object = {}) {
  const [parent, child, grandchild] = [unique('parent'), unique('child'), unique('grandchild')];
  const { body: owner } = await call('POST', nodes, node(parent));
  const { body: middle } = await call(
    'POST',
    configMaps,
    configMap(child, {}, ownedBy(owner, more)),
  );
  await call('POST', configMaps, configMap(grandchild, {}, ownedBy(middle)));
  return {
    parent: `${nodes}/${parent}`,
    child: `${configMaps}/${child}`,
    grandchild: `${configMaps}/${grandchild}`,
  };
}

describe('what depends on an owner', () => {
  test('goes with it, down to the last', async () => {
    const { parent, child, grandchild } = await family();
    await call('DELETE', parent);
    await gone(child);
    await gone(grandchild);
  });

  test('goes before it, if asked to', async () => {
    const { parent, child } = await family({ blockOwnerDeletion: true });
    await call('PATCH', child, { metadata: { finalizers: ['ex.dev/hold'] } });
    await call('DELETE', parent, { propagationPolicy: 'Foreground' });
    await expect
      .poll(async () => (await call('GET', child)).body.metadata.deletionTimestamp, {
        timeout: 30_000,
      })
      .toBeDefined();
    expect(await isThere(parent)).toBe(true);
    await call('PATCH', child, { metadata: { finalizers: null } });
    await gone(parent);
    await gone(child);
  });

  test('stays without it, if asked to', async () => {
    const { parent, child, grandchild } = await family();
    await call('DELETE', parent, { propagationPolicy: 'Orphan' });
    await gone(parent);
    const { body } = await call('GET', child);
    expect(body.metadata.ownerReferences).toBeUndefined();
    expect(await isThere(grandchild)).toBe(true);
  });

  test('stays while another owner lives', async () => {
    const { body: one } = await call('POST', nodes, node(unique('one')));
    const { body: two } = await call('POST', nodes, node(unique('two')));
    const ownerReferences = [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences];
    const name = unique('both');
    await call('POST', configMaps, configMap(name, {}, { ownerReferences }));
    await call('DELETE', `${nodes}/${one.metadata.name}`);
    await expect
      .poll(
        async () =>
          (await call('GET', `${configMaps}/${name}`)).body.metadata.ownerReferences.length,
        {
          timeout: 30_000,
        },
      )
      .toBe(1);
    await call('DELETE', `${nodes}/${two.metadata.name}`);
    await gone(`${configMaps}/${name}`);
  });

  test('is not kept at all when no such owner ever lived', async () => {
    const name = unique('stray');
    const owner = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'nobody', uid: 'nobody' } };
    await call('POST', configMaps, configMap(name, {}, ownedBy(owner)));
    await gone(`${configMaps}/${name}`);
  });

  test('is kept when the kind of its owner is not served here', async () => {
    const owner = {
      apiVersion: 'ex.org/v1',
      kind: 'Elsewhere',
      metadata: { name: 'elsewhere', uid: 'elsewhere' },
    };
    const [kept, stray] = [unique('kept'), unique('stray')];
    await call('POST', configMaps, configMap(kept, {}, ownedBy(owner)));
    const nobody = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'nobody', uid: 'nobody' } };
    await call('POST', configMaps, configMap(stray, {}, ownedBy(nobody)));
    // What came later is cleaned up already: the first one was looked at.
    await gone(`${configMaps}/${stray}`);
    expect(await isThere(`${configMaps}/${kept}`)).toBe(true);
  });

  test('goes after a restart too, if the owner went just before', async () => {
    const { parent, child } = await family();
    const deleted = call('DELETE', parent);
    await deleted;
    await api.stop();
    api = await start();
    await gone(child);
  });
});

test('custom objects in a namespace go with it, and it waits for their finalizers', async () => {
  const space = unique('space');
  await call('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: space },
  });
  const path = `/apis/ex.dev/v1/namespaces/${space}/widgets`;
  const held = widget('held', { size: 1 });
  await call('POST', path, { ...held, metadata: { name: 'held', finalizers: ['ex.dev/hold'] } });
  await call('DELETE', `/api/v1/namespaces/${space}`);
  await expect
    .poll(async () => (await call('GET', `${path}/held`)).body.metadata.deletionTimestamp, {
      timeout: 30_000,
    })
    .toBeDefined();
  expect(await isThere(`/api/v1/namespaces/${space}`)).toBe(true);
  await call('PATCH', `${path}/held`, { metadata: { finalizers: null } });
  await gone(`/api/v1/namespaces/${space}`);
});

test('a pod that nobody runs goes when its time is over', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const name = unique('pod');
  const spec = { nodeName: 'somewhere', containers: [{ name: 'c', image: 'i:1' }] };
  await call('POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  const { body } = await call('DELETE', `${pods}/${name}?gracePeriodSeconds=1`);
  expect(body.metadata.deletionGracePeriodSeconds).toBe(1);
  await gone(`${pods}/${name}`);
});

describe('what is forgotten', () => {
  test('cannot be watched from: 410 in the first event', async () => {
    const name = unique('churn');
    const { body } = await call('POST', widgets, widget(name, { size: 1 }));
    for (let n = 0; n < 100; n++) {
      await call('PATCH', `${widgets}/${name}`, { metadata: { labels: { n: String(n) } } });
    }
    const from = body.metadata.resourceVersion;
    const watch = await watchOn(api, `${widgets}?watch=true&resourceVersion=${from}`);
    const [first] = await watch.until(1);
    expect(first).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired' },
    });
    expect(first?.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
    await watch.ended;
  });

  test('cannot be listed from: 410 for a token and for a version', async () => {
    const names = [unique('page'), unique('page')];
    for (const name of names) await call('POST', widgets, widget(name, { size: 1 }));
    const { body } = await call('GET', `${widgets}?limit=1`);
    for (let n = 0; n < 100; n++) {
      await call('PATCH', `${widgets}/${names[0]}`, { metadata: { labels: { n: String(n) } } });
    }
    const token = `${widgets}?limit=1&continue=${body.metadata.continue}`;
    expect(await call('GET', token)).toMatchObject({ status: 410, body: { reason: 'Expired' } });
    const exact = `${widgets}?resourceVersionMatch=Exact&resourceVersion=${body.metadata.resourceVersion}`;
    expect((await call('GET', exact)).status).toBe(410);
  });
});

test('a bookmark comes before a watch ends, with a version to go on from', async () => {
  const watch = await watchOn(
    api,
    `${widgets}?watch=true&resourceVersion=${(await call('GET', widgets)).body.metadata.resourceVersion}&timeoutSeconds=1&allowWatchBookmarks=true`,
  );
  await watch.ended;
  const last = watch.events.at(-1);
  expect(last?.type).toBe('BOOKMARK');
  const again = await watchOn(
    api,
    `${widgets}?watch=true&resourceVersion=${last?.object.metadata.resourceVersion}&timeoutSeconds=1`,
  );
  await again.ended;
  expect(again.events).toEqual([]);
});

test('a stop ends watches and finishes what is under way', async () => {
  const watch = await watchOn(api, `${nodes}?watch=true`);
  const writes = Array.from({ length: 20 }, () => call('POST', nodes, node(unique('late'))));
  const answers = await Promise.all(writes);
  await api.stop();
  await watch.ended;
  api = await start();
  for (const { body } of answers)
    expect(await isThere(`${nodes}/${body.metadata.name}`)).toBe(true);
});

test('Service networks of both families: a Service has one address, or one of each', async () => {
  const dualDir = mkdtempSync(join(tmpdir(), 'cadastre-dual-'));
  const serviceNetworks = ['10.96.0.0/16', 'fd00:96::/112'];
  const dual = await startApiServer({ dataDir: dualDir, serviceNetworks });
  try {
    const path = '/api/v1/namespaces/default/services';
    const create = async (name: string, spec: object) =>
      (
        await callOn(dual, 'POST', path, {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name },
          spec: { ports: [{ port: 80 }], ...spec },
        })
      ).body.spec;
    expect((await create('one', {})).ipFamilies).toEqual(['IPv4']);
    for (const ipFamilyPolicy of ['PreferDualStack', 'RequireDualStack']) {
      const { ipFamilies, clusterIP, clusterIPs } = await create(ipFamilyPolicy.toLowerCase(), {
        ipFamilyPolicy,
      });
      expect(ipFamilies).toEqual(['IPv4', 'IPv6']);
      expect(clusterIPs).toEqual([clusterIP, expect.stringMatching(/^fd00:96::/)]);
    }
    expect((await create('six', { ipFamilies: ['IPv6'] })).clusterIP).toMatch(/^fd00:96::/);
  } finally {
    await dual.stop();
    rmSync(dualDir, { recursive: true, force: true });
  }
});
