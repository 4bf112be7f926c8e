/**
 * An etcd that was restored from a backup, without a bump of its revision: what came
 * after the backup never was, and the count of versions goes through the same numbers
 * again. A watch from a version of before is accepted, and says nothing. And a resource
 * definition that somebody deletes. Times are measured and printed.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { clusterCache } from '../../src/cluster/cluster-caches.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import type { Kept } from '../../src/kube/object-cache.ts';
import { nodeBlocks } from '../../src/model/resources.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually } from './eventually.ts';
import { paths } from './objects.ts';

let cluster: Cluster;
let backup: string;

beforeAll(async () => {
  backup = mkdtempSync(join(tmpdir(), 'cadastre-etcd-backup-'));
  cluster = await Cluster.start();
  await cluster.registerCrds();
});
afterEach(() => cluster.wipe());
afterAll(async () => {
  await cluster?.stop();
  rmSync(backup, { recursive: true, force: true });
});

const pool = { cidrs: ['10.80.0.0/16'], blockSize: { ipv4: 24 }, cooldownSeconds: 1 };
const patient = { withinMs: 120_000 };

async function restart(whileDown: (dataDir: string) => void): Promise<void> {
  await cluster.api.restart(whileDown);
  await cluster.reconnect();
}

const backUp = () =>
  restart((dataDir) => cpSync(dataDir, join(backup, 'etcd'), { recursive: true }));
const restore = () =>
  restart((dataDir) => {
    rmSync(dataDir, { recursive: true });
    cpSync(join(backup, 'etcd'), dataDir, { recursive: true });
  });

async function blockOf(node: string): Promise<string> {
  return eventually(async () => {
    const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
    expect(held).toHaveLength(1);
    return held[0]!.metadata.name;
  }, patient);
}

async function secondsUntil(what: () => Promise<unknown>): Promise<string> {
  const startedMs = performance.now();
  await what();
  return `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
}

test('caches and operator hold what the store has, and nothing that it has lost', async () => {
  const client = new KubeClient(
    await loadKubeConfig({ kubeconfig: cluster.api.kubeconfigPath, env: {} }),
  );
  const stop = new AbortController();
  const lost: string[] = [];
  // As an agent's: it writes nothing, so only what it hears can put it right.
  const base = { client, clock: systemClock, log: silentLog };
  const scope = {
    onStartedOver: (all: readonly Kept[]) => void lost.push(...all.map(({ name }) => name)),
  };
  const blocks = clusterCache('blocks', base, scope);
  const nodes = clusterCache('nodes', base, scope);
  const caches = [blocks, nodes];
  const isAsStored = async (cached: Iterable<Kept>, path: string) => {
    const stored = await cluster.list<{ metadata: { name: string; uid: string } }>(path);
    const identities = stored.map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
    expect([...cached].map(({ name, uid }) => `${name} ${uid}`).sort()).toEqual(identities.sort());
  };
  const asStored = async () => {
    await isAsStored(blocks.values(), paths.blocks);
    await isAsStored(nodes.values(), paths.nodes);
  };
  try {
    await cluster.createPool('p', pool);
    const operator = await cluster.leader(shortLease);
    await cluster.createNode('before');
    await blockOf('before');
    await backUp();
    for (const cache of caches) cache.start(stop.signal);
    await Promise.all(caches.map(({ synced }) => synced));
    const { metadata } = await cluster.createNode('after');
    const lostBlock = await blockOf('after');
    // As its agent does. Of a resource without objects only the count can tell, after a minute.
    await cluster.must('POST', paths.reports, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'NodeReport',
      metadata: { name: 'after' },
      spec: { nodeUID: metadata.uid, uses: [] },
    });
    for (let at = 0; at < 200; at++)
      await cluster.createNode(`brief-${at}`).then(() => cluster.deleteNode(`brief-${at}`));
    await eventually(asStored, patient);
    await restore();
    const seconds = await secondsUntil(() =>
      eventually(async () => {
        await asStored();
        expect(lost).toContain('after');
        expect(lost).toContain(lostBlock);
        expect([...nodes.values()].map(({ name }) => name)).toEqual(['before']);
      }, patient),
    );
    console.log(`restored etcd: caches held what it has ${seconds} after the API server was ready`);
    // Something happens at versions that were seen before, and is seen.
    await cluster.createNode('new');
    const served = await secondsUntil(() => blockOf('new'));
    const heard = await secondsUntil(() => eventually(asStored, patient));
    console.log(
      `restored etcd: a new node was served after ${served}, heard of after ${heard} more`,
    );
    await operator.whenLogged(
      ({ msg, resource }) => msg.includes('starting over with what it has') && resource === 'nodes',
      'starting over with nodes',
    );
  } finally {
    stop.abort();
    await client.close();
  }
});

test('a resource definition that is deleted is registered again, and /readyz says so meanwhile', async () => {
  await cluster.createPool('p', pool);
  const operator = await cluster.leader(shortLease);
  await cluster.createNode('node1');
  await blockOf('node1');
  await eventually(async () => expect((await operator.get('/readyz')).status).toBe(200));
  const { group, plural } = nodeBlocks;
  const name = `${plural}.${group}`;
  await cluster.must('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  const seconds = await secondsUntil(() =>
    eventually(async () => {
      expect(await cluster.events()).toContainEqual(
        expect.objectContaining({
          reason: 'ResourceDefinitionRestored',
          involvedObject: expect.objectContaining({ name }),
        }),
      );
    }, patient),
  );
  console.log(`resource definition deleted: registered again, with an Event, after ${seconds}`);
  await blockOf('node1');
  await eventually(async () => {
    const { status, text } = await operator.get('/readyz');
    expect(text).toContain('[+]resource definitions ok: all are registered');
    expect(status).toBe(200);
  }, patient);
});
