import { expect } from 'vitest';
import type { Cases } from './contract.ts';
import { configMap, configMaps, node, nodes, unique, widget, widgets } from './objects.ts';

const options = (more: object) => ({ kind: 'DeleteOptions', apiVersion: 'v1', ...more });

export const deleteCases: Cases = {
  'a deleted object is gone, and the answer says whose it was': async ({ call }) => {
    const name = unique('gone');
    const { body: made } = await call('POST', nodes, node(name));
    const { status, body } = await call('DELETE', `${nodes}/${name}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name, kind: 'nodes', uid: made.metadata.uid },
    });
    expect((await call('GET', `${nodes}/${name}`)).status).toBe(404);
    expect((await call('DELETE', `${nodes}/${name}`)).body.message).toBe(
      `nodes "${name}" not found`,
    );
  },

  'a delete for another uid is refused': async ({ call }) => {
    const name = unique('fence');
    const { body: made } = await call('POST', widgets, widget(name, { size: 1 }));
    const preconditions = { uid: 'other' };
    const refused = await call('DELETE', `${widgets}/${name}`, options({ preconditions }));
    expect(refused).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(refused.body.message).toContain(
      `the UID in the precondition (other) does not match the UID in record (${made.metadata.uid}). The object might have been deleted and then recreated`,
    );
    const right = { preconditions: { uid: made.metadata.uid } };
    expect((await call('DELETE', `${widgets}/${name}`, options(right))).status).toBe(200);
  },

  'a delete for another version is refused': async ({ call }) => {
    const name = unique('fence');
    const { body: made } = await call('POST', configMaps, configMap(name));
    const path = `${configMaps}/${name}`;
    const { body: changed } = await call('PATCH', path, { data: { a: 'b' } });
    const stale = { preconditions: { resourceVersion: made.metadata.resourceVersion } };
    expect((await call('DELETE', path, options(stale))).status).toBe(409);
    const right = { preconditions: { resourceVersion: changed.metadata.resourceVersion } };
    expect((await call('DELETE', path, options(right))).status).toBe(200);
  },

  'finalizers hold an object until the last is gone': async ({ call }) => {
    const name = unique('held');
    const path = `${nodes}/${name}`;
    await call('POST', nodes, node(name, {}, { finalizers: ['ex.dev/a', 'ex.dev/b'] }));
    const { status, body } = await call('DELETE', path);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'Node',
      metadata: { deletionTimestamp: expect.any(String), deletionGracePeriodSeconds: 0 },
    });
    const again = await call('DELETE', path);
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect((await call('POST', nodes, node(name))).status).toBe(409);
    await call('PATCH', path, { metadata: { finalizers: ['ex.dev/b'] } });
    expect((await call('GET', path)).status).toBe(200);
    const last = await call('PATCH', path, { metadata: { finalizers: null } });
    expect(last.status).toBe(200);
    expect((await call('GET', path)).status).toBe(404);
  },

  'an object that is being deleted takes no new finalizer': async ({ call }) => {
    const name = unique('held');
    const path = `${nodes}/${name}`;
    await call('POST', nodes, node(name, {}, { finalizers: ['ex.dev/a'] }));
    await call('DELETE', path);
    const answer = await call('PATCH', path, {
      metadata: { finalizers: ['ex.dev/a', 'ex.dev/b'] },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"ex.dev/b"}',
    );
    await call('PATCH', path, { metadata: { finalizers: null } });
  },

  'the deletion time cannot be taken back': async ({ call }) => {
    const name = unique('held');
    const path = `${nodes}/${name}`;
    await call('POST', nodes, node(name, {}, { finalizers: ['ex.dev/a'] }));
    const { body } = await call('DELETE', path);
    const { body: after } = await call('PATCH', path, { metadata: { deletionTimestamp: null } });
    expect(after.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    await call('PATCH', path, { metadata: { finalizers: null } });
  },

  'a deleted custom object counts a generation': async ({ call }) => {
    const name = unique('held');
    const path = `${widgets}/${name}`;
    const made = widget(name, { size: 1 });
    await call('POST', widgets, { ...made, metadata: { name, finalizers: ['ex.dev/a'] } });
    expect((await call('DELETE', path)).body.metadata.generation).toBe(2);
    await call('PATCH', path, { metadata: { finalizers: null } });
  },

  'a collection is deleted by label, and only that': async ({ call }) => {
    const [group, other] = [unique('group'), unique('other')];
    for (const name of [unique('c'), unique('c')]) {
      await call('POST', configMaps, configMap(name, {}, { labels: { group } }));
    }
    await call('POST', configMaps, configMap(other, {}, { labels: { group: other } }));
    const { status, body } = await call('DELETE', `${configMaps}?labelSelector=group%3D${group}`);
    expect(status).toBe(200);
    expect(body.kind).toBe('ConfigMapList');
    expect(body.items).toHaveLength(2);
    const left = await call('GET', `${configMaps}?labelSelector=group`);
    const names = left.body.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
    expect(names).toContain(other);
    expect(names).toHaveLength(1);
  },

  'deleting in the foreground or orphaning marks the object for whoever does it': async ({
    call,
  }) => {
    for (const [propagationPolicy, finalizer] of [
      ['Foreground', 'foregroundDeletion'],
      ['Orphan', 'orphan'],
    ]) {
      const name = unique('owner');
      const finalizers = ['ex.dev/hold'];
      await call('POST', configMaps, configMap(name, {}, { finalizers }));
      const { body } = await call(
        'DELETE',
        `${configMaps}/${name}`,
        options({ propagationPolicy }),
      );
      expect(body.metadata.finalizers).toContain(finalizer);
      await call('PATCH', `${configMaps}/${name}`, { metadata: { finalizers: null } });
    }
  },

  'a pod on a node waits for the node, one on none goes at once': async ({ call }) => {
    const pods = '/api/v1/namespaces/default/pods';
    const pod = (name: string, spec: object) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        containers: [{ name: 'c', image: 'i:1' }],
        automountServiceAccountToken: false,
        ...spec,
      },
    });
    const [free, bound] = [unique('free'), unique('bound')];
    await call('POST', pods, pod(free, {}));
    await call('POST', pods, pod(bound, { nodeName: 'somewhere' }));
    const { body: gone } = await call('DELETE', `${pods}/${free}`);
    expect(gone).toMatchObject({ kind: 'Pod', metadata: { name: free } });
    expect((await call('GET', `${pods}/${free}`)).status).toBe(404);
    const { body: held } = await call('DELETE', `${pods}/${bound}`);
    expect(held.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    expect((await call('GET', `${pods}/${bound}`)).status).toBe(200);
    await call('DELETE', `${pods}/${bound}?gracePeriodSeconds=0`);
    expect((await call('GET', `${pods}/${bound}`)).status).toBe(404);
  },

  'the namespaces of the system itself stay': async ({ call }) => {
    const answer = await call('DELETE', '/api/v1/namespaces/kube-system');
    expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(answer.body.message).toBe(
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    );
  },
};
