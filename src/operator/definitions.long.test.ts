/** A resource definition that is deleted under a running operator, and what /readyz says. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type BenchOperator,
  eventually,
  OperatorBench,
} from '../../test/operator/operator-bench.ts';
import { crdResource } from '../kube/crds.ts';
import { nodeBlocks } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const name = 'nodeblocks.cadastre.dev';

/** `+` or `-` and what is said, by check. */
function readiness({ operator }: BenchOperator): Record<string, string> {
  const said = [...operator.readiness].map(([check, ask]) => {
    const { isOk, says } = ask();
    return [check, `${isOk ? '+' : '-'} ${says}`];
  });
  return Object.fromEntries(said);
}

test('is registered again, with an Event and in the log', async () => {
  const operator = await bench.leader();
  const first = await bench.client.get(crdResource, name);
  await bench.client.delete(crdResource, name);
  const second = await eventually(async () => {
    const found = await bench.client.get(crdResource, name);
    expect(found.metadata.uid).not.toBe(first.metadata.uid);
    return found;
  });
  await eventually(() => bench.client.list(nodeBlocks));
  const message = `${name} was deleted, and all objects of it with it; it is registered again`;
  await eventually(async () => {
    expect(await bench.events(name)).toMatchObject([
      { type: 'Warning', reason: 'ResourceDefinitionRestored', message },
    ]);
  });
  const [event] = await bench.events(name);
  expect(event?.involvedObject).toMatchObject({
    kind: 'CustomResourceDefinition',
    uid: second.metadata.uid,
  });
  expect(operator.logged(({ msg }) => msg === message)).toHaveLength(1);
  // And blocks are given again.
  await bench.createPool('p', { cidrs: ['10.5.0.0/24'], blockSize: { ipv4: 25 } });
  await bench.createNode('node1');
  await bench.whenBlocks(['10.5.0.0/25 node1 Active']);
});

test('with --crds=await it is waited for, and nothing is registered', async () => {
  await bench.leader();
  const waiting = bench.operator({ crds: 'await' });
  await eventually(() => {
    expect(readiness(waiting)['resource definitions']).toBe('+ all are registered');
  });
  const ofWaiting = bench.writes.filter(
    ({ by, resource }) => by === waiting.identity && resource === 'customresourcedefinitions',
  );
  expect(ofWaiting).toEqual([]);
});

test('with --crds=await an operator alone says what is missing', async () => {
  for (const { metadata } of (await bench.client.list(crdResource)).items) {
    if (metadata.name.endsWith('.cadastre.dev'))
      await bench.client.delete(crdResource, metadata.name);
  }
  const waiting = bench.operator({ crds: 'await' });
  const said = await eventually(() => {
    const [line] = waiting.logged(({ msg }) => msg === `could not find ${name}; trying again`);
    expect(line).toBeDefined();
    return line!;
  });
  expect(said.error).toBe(
    `The API server does not serve ${name}: it is not registered; whoever installed this operator installs it (--crds=await).`,
  );
});

test('several replicas: it is created once, and said once', async () => {
  const replicas = [await bench.leader(), bench.operator(), bench.operator()];
  for (const replica of replicas) {
    // From then on one that is missing was deleted.
    await eventually(() => {
      expect(readiness(replica)['resource definitions']).toBe('+ all are registered');
    });
  }
  await bench.client.delete(crdResource, name);
  await eventually(async () => expect(await bench.events(name)).toHaveLength(1));
  await eventually(() => bench.client.list(nodeBlocks));
  const created = bench.writes.filter(
    ({ verb, resource, code }) =>
      `${verb} ${resource} ${code}` === 'create customresourcedefinitions 201',
  );
  expect(created).toHaveLength(1);
});

test('readyz says what is missing while it is, and who leads', async () => {
  let isRefused = false;
  const proxy = await bench.proxy({
    intercept: ({ method, path }, response) => {
      if (!isRefused || method !== 'POST' || !path.endsWith('/customresourcedefinitions'))
        return false;
      response.destroy();
      return true;
    },
  });
  const leader = await bench.leader({}, proxy);
  expect(readiness(leader)).toEqual({
    caches: '+ 4 caches are synced',
    leadership: '+ leads as operator-1',
    'resource definitions': '+ all are registered',
    watches: expect.stringMatching(/^\+ the longest silence of a cache is \d+ s$/),
  });
  const standby = bench.operator({}, proxy);
  await eventually(() =>
    expect(readiness(standby)).toMatchObject({
      caches: '+ 4 caches are synced',
      leadership: '+ stands by; operator-1 leads',
      'resource definitions': '+ all are registered',
    }),
  );
  isRefused = true;
  await bench.client.delete(crdResource, name);
  for (const replica of [leader, standby]) {
    await eventually(() => {
      expect(readiness(replica)['resource definitions']).toBe(`- not registered: ${name}`);
    });
  }
  isRefused = false;
  for (const replica of [leader, standby]) {
    await eventually(() => {
      expect(readiness(replica)['resource definitions']).toBe('+ all are registered');
    });
  }
});

test('a replica that has not seen anybody lead neither leads nor stands by', async () => {
  const proxy = await bench.proxy({
    intercept: ({ path }, response) => {
      if (!path.includes('/leases')) return false;
      response.destroy();
      return true;
    },
  });
  const cutOff = bench.operator({}, proxy);
  await eventually(() => expect(readiness(cutOff).caches).toBe('+ 4 caches are synced'));
  expect(readiness(cutOff).leadership).toBe('- nobody is known to hold the lease');
});
