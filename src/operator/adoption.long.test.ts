/** What nodes hold before Cadastre comes is taken over first; who starts again finds it all done. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

test('everything that nodes hold is adopted before the first new block is cut', async () => {
  await bench.registerCiliumNodes();
  await bench.createPool('p', { cidrs: ['10.5.112.0/21'], blockSize: { ipv4: 24 } });
  // The newcomers are the oldest, so nothing but the rule keeps them back.
  await bench.createNodes('new-1', 'new-2');
  await bench.createNode('by-spec', { podCIDRs: ['10.5.112.0/24'] });
  await bench.createNode('by-annotation', {
    annotations: { 'io.cilium.network.ipv4-pod-cidr': '10.5.113.0/24' },
  });
  // The incident: what Cilium's agent uses counts, whatever Node.spec says.
  await bench.createNode('by-cilium', { podCIDRs: ['10.5.119.0/24'] });
  await bench.createCiliumNode('by-cilium', ['10.5.114.0/24']);
  const operator = await bench.leader();
  await bench.whenBlocks([
    '10.5.112.0/24 by-spec Active',
    '10.5.113.0/24 by-annotation Active',
    '10.5.114.0/24 by-cilium Active',
    '10.5.115.0/24 new-1 Active',
    '10.5.116.0/24 new-2 Active',
  ]);
  const creates = bench.writesAbout(/^nodeblocks$/).map((write) => write.split(' ').at(-1));
  expect(creates.slice(0, 3).sort()).toEqual(['10-5-112-0-24', '10-5-113-0-24', '10-5-114-0-24']);
  expect(creates).toHaveLength(5);
  expect(operator.decided('Adopted')).toHaveLength(3);
  await eventually(async () => {
    expect(await bench.events('by-cilium')).toMatchObject([
      {
        reason: 'SourcesDisagree',
        message: 'by-cilium has 10.5.114.0/24, but Node.spec.podCIDRs says 10.5.119.0/24',
      },
    ]);
  });
});

test('a block of an odd size is entered behind a guard, and nobody is given the cell of it', async () => {
  await bench.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 24 } });
  await bench.createNode('narrow', { podCIDRs: ['10.1.0.64/26'] });
  await bench.createNode('new');
  await bench.leader();
  await bench.whenBlocks([
    '10.1.0.0/24 Guard',
    '10.1.0.64/26 narrow Active',
    '10.1.1.0/24 new Active',
  ]);
  // The guard was there before the block that it guards.
  const order = bench.writesAbout(/^nodeblocks$/);
  const at = (name: string) => order.indexOf(`create nodeblocks ${name}`);
  expect(at('10-1-0-0-24')).toBeLessThan(at('10-1-0-64-26'));
});

test('of two that hold one block the older one is adopted, the other hears why it gets nothing', async () => {
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/22'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
  await bench.createNode('first', { podCIDRs: ['10.1.0.0/24'] });
  await bench.createNode('second', { podCIDRs: ['10.1.0.0/24'] });
  await bench.createNode('stranger', { podCIDRs: ['10.200.0.0/24'] });
  await bench.createNode('new');
  const operator = await bench.leader();
  await bench.whenBlocks(['10.1.0.0/24 first Active', '10.1.1.0/24 new Active']);
  const message = await bench.whenReason('second', 'DuplicateBlock');
  expect(message).toBe('ipv4: 10.1.0.0/24 is held by first and by second');
  await bench.whenReason('stranger', 'OutsidePools');
  expect(operator.metric('cadastre_findings', { reason: 'DuplicateBlock' })).toBe(1);
  // The finding goes with its cause.
  await bench.retireNode('first');
  await eventually(async () => {
    expect(await bench.blocksOf('second')).toEqual(['10.1.0.0/24 Active']);
    expect(operator.metric('cadastre_findings', { reason: 'DuplicateBlock' })).toBe(0);
  });
});

test('who starts again on a cluster in order writes nothing about it', async () => {
  await bench.registerCiliumNodes();
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/20', 'fd00:1::/60'],
    blockSize: { ipv4: 24, ipv6: 64 },
  });
  await bench.createPool('idle', { cidrs: ['10.9.0.0/20'], blockSize: { ipv4: 24 }, priority: -1 });
  await bench.createNode('odd', { podCIDRs: ['10.1.8.0/25', 'fd00:1:0:8::/64'] });
  await bench.createNode('the-duplicate', { podCIDRs: ['10.1.8.0/25', 'fd00:1:0:8::/64'] });
  await bench.createNodes('a', 'b', 'c', 'gone');
  await bench.startCiliumOn('odd', 'a', 'b', 'c', 'gone');
  const projections = ['annotations', 'node-spec', 'ciliumnode'] as const;
  const first = await bench.leader({ projections });
  await bench.whenReason('the-duplicate', 'DuplicateBlock');
  await bench.deleteNode('gone');
  // All that is to be written has been: the projections, and the status with the block that cools.
  await eventually(async () => {
    for (const name of ['odd', 'a', 'b', 'c']) {
      expect((await bench.node(name)).metadata.annotations).toBeDefined();
      expect((await bench.node(name)).spec.podCIDRs).toHaveLength(2);
    }
    // That of the node that is gone went with it: the Node owns it.
    expect(await bench.ciliumNodes()).toHaveLength(4);
    expect((await bench.pool('p')).status).toMatchObject({ assigned: 4, cooling: 1 });
    expect((await bench.pool('idle')).status).toMatchObject({ assigned: 0 });
  });
  await first.stop();
  const before = await bench.blocks();
  bench.writes.length = 0;
  const second = await bench.leader({ projections });
  // One more comes at the end of all queues: when it is in the pool's status they were gone through.
  await bench.createNode('last');
  await bench.startCiliumOn('last');
  await eventually(async () => {
    expect((await bench.pool('p')).status).toMatchObject({ assigned: 5 });
    const last = (await bench.ciliumNodes()).find(({ metadata }) => metadata.name === 'last');
    expect(last?.spec?.ipam?.podCIDRs).toHaveLength(2);
  });
  expect(second.decided('Adopted')).toEqual([]);
  const [v4, v6] = (await bench.blocksOf('last')).map((line) => line.split(' ')[0] ?? '');
  const nameOf = (cidr = '') => cidr.replace(/[.:/]/g, '-');
  expect(
    bench
      .writesAbout()
      .filter((write) => !write.includes('status p'))
      .sort(),
  ).toEqual([
    `create nodeblocks ${nameOf(v4)}`,
    `create nodeblocks ${nameOf(v6)}`,
    'patch ciliumnodes last',
    'patch nodes last',
  ]);
  expect((await bench.blocks()).filter((line) => !line.includes(' last '))).toEqual(before);
});
