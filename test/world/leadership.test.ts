/**
 * Who leads, and what becomes of the cluster while that changes: a clean stop,
 * a killed leader, a zombie, an API server that is away, an operator that was
 * there first. Times are measured and printed; only their order is asserted.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mustBeSound } from './audit.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually, inParallel, pause } from './eventually.ts';
import type { OperatorProcess } from './operator-process.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

const pool = { cidrs: ['10.80.0.0/16'], blockSize: { ipv4: 24 }, cooldownSeconds: 1 };

/** Three that have settled who of them leads. */
async function crew(flags: string[] = []): Promise<OperatorProcess[]> {
  const replicas: OperatorProcess[] = [];
  for (let at = 0; at < 3; at++) replicas.push(await cluster.operator(flags));
  await Promise.all(replicas.map((replica) => replica.whenSynced()));
  await eventually(() => leaderOf(replicas));
  return replicas;
}

async function leaderOf(replicas: readonly OperatorProcess[]): Promise<OperatorProcess> {
  const holder = (await cluster.lease())?.spec.holderIdentity;
  const leader = replicas.find(({ name, isRunning }) => name === holder && isRunning);
  if (leader === undefined) throw new Error(`the lease is held by "${holder}"`);
  await leader.whenLeading();
  return leader;
}

async function served(name: string): Promise<void> {
  await cluster.createNode(name);
  await eventually(
    async () => {
      const held = (await cluster.blocks()).filter(({ spec }) => spec.node?.name === name);
      expect(held).toHaveLength(1);
    },
    { everyMs: 20, withinMs: 60_000 },
  );
}

async function secondsUntil(what: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await what();
  return (performance.now() - startedMs) / 1_000;
}

describe('three replicas', () => {
  test('SIGTERM releases the lease: the next one leads at once, and exit is 0', async () => {
    await cluster.createPool('p', pool);
    // A lease so long that nobody could have waited for it to run out.
    const slow = ['--lease-duration=60', '--renew-deadline=40', '--retry-period=5'];
    const replicas = await crew(slow);
    const leader = await leaderOf(replicas);
    const others = replicas.filter((replica) => replica !== leader);
    await served('before');
    expect(await leader.metric('cadastre_leader')).toBe(1);
    for (const standby of others) {
      expect(await standby.metric('cadastre_leader')).toBe(0);
      // A standby is ready: its caches are warm, and it has seen another lead.
      await eventually(async () => expect((await standby.get('/readyz')).status).toBe(200));
    }
    const seconds = await secondsUntil(async () => {
      expect(await leader.stop()).toBe('exit 0');
      await eventually(() => leaderOf(others), { everyMs: 20 });
      await served('after');
    });
    console.log(
      `leader stopped with SIGTERM: the next one had served after ${seconds.toFixed(1)} s`,
    );
    expect(leader.readLog().at(-1)?.msg).toBe('stopped');
    expect(leader.words).toEqual([]);
    await eventually(() => mustBeSound(cluster));
    const [second, third] = others as [OperatorProcess, OperatorProcess];
    for (const one of [second, third]) expect(await one.stop()).toBe('exit 0');
    expect((await cluster.lease())?.spec.holderIdentity ?? '').toBe('');
  });

  test('a killed leader is followed by another, by the defaults', async () => {
    await cluster.createPool('p', pool);
    const replicas = await crew();
    await served('before');
    const leader = await leaderOf(replicas);
    const seconds = await secondsUntil(async () => {
      await leader.kill9();
      await served('after');
    });
    console.log(`leader killed with -9: the next one had served after ${seconds.toFixed(1)} s`);
    expect(seconds).toBeGreaterThan(1);
    const next = await leaderOf(replicas.filter((replica) => replica !== leader));
    expect(next).not.toBe(leader);
    await eventually(() => mustBeSound(cluster));
  });

  test('a zombie finds out with its first breath, writes nothing, and stands by', async () => {
    await cluster.createPool('p', { ...pool, nodeSelector: { matchLabels: { rack: '1' } } });
    const replicas = await crew(shortLease);
    await cluster.createNode('unserved');
    const zombie = await leaderOf(replicas);
    await eventually(async () => expect(await zombie.metric('cadastre_nodes_unserved')).toBe(1));
    zombie.freeze();
    const others = replicas.filter((replica) => replica !== zombie);
    const next = await eventually(() => leaderOf(others));
    await inParallel(
      Array.from({ length: 30 }, (_, at) => `while-frozen-${at}`),
      8,
      (name) => cluster.createNode(name, { labels: { rack: '1' } }),
    );
    const expectations = { unserved: new Set(['unserved']) };
    const counted = await eventually(() => mustBeSound(cluster, expectations));
    expect(counted.active).toBe(30);
    zombie.thaw();
    await zombie.whenLogged(
      ({ msg }) => msg.startsWith('lost the leadership'),
      'lost the leadership',
    );
    const mark = cluster.requests.mark();
    await pause(1_500);
    // Everybody has what it should; only somebody confused would write.
    const writes = cluster.requests.ofOperators(mark);
    expect(writes.filter(({ resource }) => /^node/.test(resource))).toEqual([]);
    expect(await zombie.metric('cadastre_leader')).toBe(0);
    expect(await next.metric('cadastre_leader')).toBe(1);
    // Nobody counts what only a leader can know.
    expect(await zombie.metric('cadastre_nodes_unserved')).toBe(0);
    expect(await zombie.metric('cadastre_pool_blocks_capacity')).toBe(0);
    expect(await next.metric('cadastre_nodes_unserved')).toBe(1);
    expect(await next.metric('cadastre_pool_blocks_capacity', { pool: 'p' })).toBe(256);
    await mustBeSound(cluster, expectations);
  });
});

describe('the API server', () => {
  test('goes away and comes back; the operator waits, says so, and goes on', async () => {
    await cluster.createPool('p', pool);
    const operator = await cluster.leader(shortLease);
    await served('before');
    await cluster.api.kill9();
    await operator.whenLogged(
      ({ msg }) => msg.includes('could not renew the lease'),
      'could not renew the lease',
    );
    await operator.whenLogged(
      ({ msg }) => msg.startsWith('cannot list or watch'),
      'cannot list or watch',
    );
    await pause(3_000);
    expect(operator.isRunning).toBe(true);
    expect(await operator.metric('cadastre_leader')).toBe(0);
    expect(
      await operator.metric('cadastre_kube_silent_seconds', { resource: 'nodes' }),
    ).toBeGreaterThan(2);
    expect((await operator.get('/livez')).status).toBe(200);
    await cluster.api.restart();
    await cluster.reconnect();
    const seconds = await secondsUntil(() => served('after'));
    console.log(`API server back: a new node was served after ${seconds.toFixed(1)} s`);
    expect(operator.isRunning).toBe(true);
    await eventually(() => mustBeSound(cluster));
  });

  test('is not there yet when the operator starts; and a stop while it waits is clean', async () => {
    await cluster.createPool('p', pool);
    await cluster.api.kill9();
    const patient = await cluster.operator(shortLease);
    const other = await cluster.operator(shortLease);
    for (const operator of [patient, other]) {
      const line = await operator.whenLogged(
        ({ msg }) => /^could not register .*; trying again$/.test(String(msg)),
        'could not register',
      );
      expect(line.error).toContain('ECONNREFUSED');
    }
    expect((await patient.get('/readyz')).status).toBe(503);
    expect((await patient.get('/livez')).status).toBe(200);
    expect(await other.stop()).toBe('exit 0');
    await pause(1_000);
    await cluster.api.restart();
    await cluster.reconnect();
    const seconds = await secondsUntil(() => served('first'));
    console.log(
      `API server up after the operator: a node was served after ${seconds.toFixed(1)} s`,
    );
    await eventually(async () => expect((await patient.get('/readyz')).status).toBe(200));
    await eventually(() => mustBeSound(cluster));
  });
});
