/**
 * Nodes leave, come back, are made anew under the same name, are relabelled,
 * and take their time to die. A block follows its node through all of it, and
 * goes to somebody else only when it has rested.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { mustBeSound } from './audit.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually, pause } from './eventually.ts';
import { type BlockObject, paths } from './objects.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

async function blocksOf(node: string): Promise<string[]> {
  const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === node);
  return held.map(({ spec }) => `${spec.cidr} ${spec.phase}`).sort();
}

function block(name: string): Promise<BlockObject> {
  return cluster.must<BlockObject>('GET', `${paths.blocks}/${name}`);
}

async function reasonOn(node: string): Promise<string | undefined> {
  const { status } = await cluster.node(node);
  return status?.conditions?.find(({ type }) => type === 'CadastreBlocksAssigned')?.reason;
}

test('a deleted node gets its block back when it returns in time, both families', async () => {
  await cluster.createPool('p', {
    cidrs: ['10.30.0.0/20', 'fd00:30::/56'],
    blockSize: { ipv4: 24, ipv6: 64 },
    cooldownSeconds: 60,
  });
  const operator = await cluster.leader();
  for (const name of ['a', 'b', 'c']) await cluster.createNode(name);
  await eventually(() => mustBeSound(cluster));
  const before = await blocksOf('b');
  expect(before).toHaveLength(2);
  const { uid } = (await cluster.node('b')).metadata;

  await cluster.deleteNode('b');
  await eventually(async () => {
    expect(await blocksOf('b')).toEqual(before.map((text) => text.replace('Active', 'Cooling')));
  });
  const v4 = before[0]!.split(' ')[0]!.replace(/[./]/g, '-');
  expect((await block(v4)).spec.coolingSince).toBeDefined();
  expect(operator.logged(({ reason }) => reason === 'Cooling')).toHaveLength(2);
  // A block that cools down is not free: a newcomer gets something else.
  await cluster.createNode('d');
  await eventually(async () => expect(await blocksOf('d')).toHaveLength(2));
  expect((await blocksOf('d')).some((text) => before.includes(text))).toBe(false);

  const reborn = await cluster.createNode('b');
  expect(reborn.metadata.uid).not.toBe(uid);
  await eventually(async () => {
    expect(await blocksOf('b')).toEqual(before);
    const { spec } = await block(v4);
    expect(spec.node?.uid).toBe(reborn.metadata.uid);
    expect(spec.coolingSince).toBeUndefined();
    await mustBeSound(cluster);
  });
  expect(operator.logged(({ reason }) => reason === 'Returned')).toHaveLength(2);
});

test('a block is used again only after it has rested, by whoever waits for it', async () => {
  const cooldownSeconds = 4;
  await cluster.createPool('tight', {
    cidrs: ['10.31.0.0/23'],
    blockSize: { ipv4: 24 },
    cooldownSeconds,
  });
  let operator = await cluster.leader(shortLease);
  await cluster.createNode('a');
  await cluster.createNode('b');
  await eventually(() => mustBeSound(cluster));
  const [left] = await blocksOf('a');
  await cluster.createNode('waits');
  await eventually(async () => expect(await reasonOn('waits')).toBe('PoolExhausted'));
  await cluster.retireNode('a');
  const name = left!.split(' ')[0]!.replace(/[./]/g, '-');
  const cooling = await eventually(async () => {
    const found = await block(name);
    expect(found.spec.phase).toBe('Cooling');
    return found;
  });
  // A new operator does not cut the cool-down short.
  await operator.stop();
  operator = await cluster.leader(shortLease);
  expect(await blocksOf('waits')).toEqual([]);
  const served = await eventually(async () => {
    const found = await block(name);
    expect(found.spec).toMatchObject({ phase: 'Active', node: { name: 'waits' } });
    return found;
  });
  const restedMs =
    Date.parse(served.metadata.creationTimestamp) - Date.parse(cooling.spec.coolingSince!);
  // Creation times are whole seconds, cut off.
  expect(restedMs).toBeGreaterThan((cooldownSeconds - 1) * 1_000);
  expect(served.metadata.uid).not.toBe(cooling.metadata.uid);
  await eventually(async () => {
    expect(await reasonOn('waits')).toBe('BlocksAssigned');
    await mustBeSound(cluster);
  });
  // Too late: the old owner is a newcomer like everybody.
  await cluster.createNode('a');
  await eventually(async () => expect(await reasonOn('a')).toBe('PoolExhausted'));
});

test('a node that is only being deleted still runs pods: it keeps its block', async () => {
  await cluster.createPool('p', {
    cidrs: ['10.32.0.0/22'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
  await cluster.leader();
  await cluster.createNode('slow', { finalizers: ['example.com/wait'] });
  await cluster.createNode('other');
  await eventually(() => mustBeSound(cluster));
  const before = await blocksOf('slow');
  await cluster.retireNode('slow');
  expect((await cluster.node('slow')).metadata.deletionTimestamp).toBeDefined();
  // Something else happens meanwhile, so that the operator surely looked at it all again.
  await cluster.patchPool('p', { cidrs: ['10.32.0.0/21'] });
  await cluster.createNode('third');
  await eventually(async () => expect(await blocksOf('third')).toHaveLength(1));
  await pause(1_500);
  expect(await blocksOf('slow')).toEqual(before);
  await eventually(() => mustBeSound(cluster));
  // A new operator must not think otherwise.
  await cluster.stopOperators();
  await cluster.leader();
  await pause(1_000);
  expect(await blocksOf('slow')).toEqual(before);
  await cluster.patchNode('slow', { metadata: { finalizers: null } });
  await eventually(async () => expect(await blocksOf('slow')).toEqual([]));
});

test('a relabelled node keeps its block and is reported; made anew it gets one of its new pool', async () => {
  const pool = (rack: string) => ({
    cidrs: [`10.${rack}.0.0/22`],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 60,
    nodeSelector: { matchLabels: { rack } },
  });
  await cluster.createPool('rack-40', pool('40'));
  await cluster.createPool('rack-41', pool('41'));
  const operator = await cluster.leader();
  await cluster.createNode('n', { labels: { rack: '40' } });
  await eventually(async () => expect(await blocksOf('n')).toEqual(['10.40.0.0/24 Active']));
  await cluster.patchNode('n', { metadata: { labels: { rack: '41' } } });
  const sentence =
    'n keeps 10.40.0.0/24 of pool rack-40, which no longer selects it, until it is drained';
  await eventually(async () => {
    expect(await operator.metric('cadastre_findings', { reason: 'PoolNoLongerSelects' })).toBe(1);
    const events = (await cluster.events()).filter((e) => e.involvedObject.name === 'n');
    expect(events).toMatchObject([{ reason: 'PoolNoLongerSelects', message: sentence }]);
  });
  const mayKeepFrom = () => new Set(['rack-40']);
  const counted = await eventually(() => mustBeSound(cluster, { mayKeepFrom }));
  expect(counted).toMatchObject({ served: 1, active: 1 });
  // Back again: nothing to report any more.
  await cluster.patchNode('n', { metadata: { labels: { rack: '40' } } });
  await eventually(async () =>
    expect(await operator.metric('cadastre_findings', { reason: 'PoolNoLongerSelects' })).toBe(0),
  );
  await cluster.deleteNode('n');
  await eventually(async () => expect(await blocksOf('n')).toEqual(['10.40.0.0/24 Cooling']));
  await cluster.createNode('n', { labels: { rack: '41' } });
  await eventually(async () =>
    expect(await blocksOf('n')).toEqual(['10.40.0.0/24 Cooling', '10.41.0.0/24 Active']),
  );
  await eventually(() => mustBeSound(cluster));
});

test('a relabelled node whose block is drained gets one of its new pool, and the old one goes once the agent has emptied it', async () => {
  const pool = (rack: string) => ({
    cidrs: [`10.${rack}.0.0/22`],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 2,
    nodeSelector: { matchLabels: { rack } },
  });
  await cluster.createPool('rack-40', pool('40'));
  await cluster.createPool('rack-41', pool('41'));
  const operator = await cluster.leader();
  const { metadata } = await cluster.createNode('n', { labels: { rack: '40' } });
  await eventually(async () => expect(await blocksOf('n')).toEqual(['10.40.0.0/24 Active']));
  await cluster.patchNode('n', { metadata: { labels: { rack: '41' } } });
  // A block that is drained while the operator believes the node to be in its pool is given back to it.
  await eventually(async () =>
    expect(await operator.metric('cadastre_findings', { reason: 'PoolNoLongerSelects' })).toBe(1),
  );
  await cluster.must('PATCH', `${paths.blocks}/10-40-0-0-24`, { spec: { phase: 'Draining' } });
  // The new one is there before the old one is empty, and the old one stays until it is.
  await eventually(async () => expect(await blocksOf('n')).toContain('10.41.0.0/24 Active'));
  await pause(1_500);
  expect(await blocksOf('n')).toContain('10.40.0.0/24 Draining');
  const { uid } = (await block('10-40-0-0-24')).metadata;
  await cluster.must('POST', paths.reports, {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name: 'n' },
    spec: { nodeUID: metadata.uid, releases: [{ cidr: '10.40.0.0/24', uid }] },
  });
  await eventually(async () => {
    expect(await blocksOf('n')).toContain('10.41.0.0/24 Active');
    expect((await cluster.node('n')).metadata.annotations).toMatchObject({
      'network.cilium.io/ipv4-pod-cidr': '10.41.0.0/24',
      'io.cilium.network.ipv4-pod-cidr': '10.41.0.0/24',
    });
  });
  await eventually(async () => {
    expect(await blocksOf('n')).toEqual(['10.41.0.0/24 Active']);
    await mustBeSound(cluster);
  });
});

test('what happened while no operator ran is put right by the next one, and only by what is true', async () => {
  await cluster.createPool('p', {
    cidrs: ['10.33.0.0/20'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 60,
  });
  const first = await cluster.leader(shortLease);
  for (const name of ['stays', 'goes', 'reborn']) await cluster.createNode(name);
  await eventually(() => mustBeSound(cluster));
  const [stays, goes, reborn] = await Promise.all(['stays', 'goes', 'reborn'].map(blocksOf));
  await first.kill9();
  await cluster.deleteNode('goes');
  await cluster.deleteNode('reborn');
  await cluster.createNode('reborn');
  await cluster.createNode('new');
  await cluster.leader(shortLease);
  await eventually(async () => {
    expect(await blocksOf('goes')).toEqual(goes!.map((text) => text.replace('Active', 'Cooling')));
    await mustBeSound(cluster);
  });
  expect(await blocksOf('stays')).toEqual(stays);
  expect(await blocksOf('reborn')).toEqual(reborn);
  expect(await blocksOf('new')).toHaveLength(1);
});
