/** Blocks for new nodes: which pool serves whom, and what people hear when none can. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import { ipPools, nodes } from '../model/resources.ts';
import { readClusterPool } from '../plan/pools/cluster-pool.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const rack = (name: string) => ({ matchLabels: { rack: name } });

describe('pools', () => {
  test('of several pools each node gets a block of the one that selects it', async () => {
    await bench.createPool('r1', {
      cidrs: ['10.1.0.0/22'],
      blockSize: { ipv4: 24 },
      nodeSelector: rack('1'),
    });
    await bench.createPool('r2', {
      cidrs: ['10.2.0.0/22'],
      blockSize: { ipv4: 26 },
      nodeSelector: rack('2'),
    });
    await bench.createNode('a', { labels: { rack: '1' } });
    await bench.createNode('b', { labels: { rack: '2' } });
    const operator = await bench.leader();
    await bench.createNode('c', { labels: { rack: '2' } });
    await bench.createNode('nobodys');
    await bench.whenBlocks([
      '10.1.0.0/24 a Active',
      '10.2.0.0/26 b Active',
      '10.2.0.64/26 c Active',
    ]);
    await bench.whenReason('nobodys', 'NoPoolSelectsNode');
    await eventually(async () => {
      const heard = (await bench.events('nobodys')).map(({ type, reason }) => `${type} ${reason}`);
      expect(heard).toEqual(['Warning NoPoolSelectsNode']);
      const { status, metadata } = await bench.pool('r2');
      expect(status).toMatchObject({ capacity: 16, assigned: 2, free: 14 });
      expect(metadata.finalizers).toEqual(['cadastre.dev/blocks-in-use']);
    });
    expect(operator.metric('cadastre_nodes_unserved', { reason: 'NoPoolSelectsNode' })).toBe(1);
    expect(operator.metric('cadastre_decisions_total', { reason: 'Assigned' })).toBe(3);
    // The finalizer came before the first block and before any status: no write was in another's way.
    expect(bench.writesAbout().filter((write) => / \d{3}$/.test(write))).toEqual([]);
    expect(operator.metric('cadastre_queue_failures_total')).toBe(0);
  });

  test('one that is full says so, and serves who waits as soon as it has grown', async () => {
    await bench.createPool('p', { cidrs: ['10.1.0.0/24'], blockSize: { ipv4: 25 } });
    await bench.createNodes('a', 'b', 'c');
    const operator = await bench.leader();
    const message = await bench.whenReason('c', 'PoolExhausted');
    expect(message).toContain('ipv4: ');
    await eventually(async () => {
      const { status } = await bench.pool('p');
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Exhausted', status: 'True' }),
      );
    });
    await bench.patch(ipPools, 'p', { spec: { cidrs: ['10.1.0.0/24', '10.2.0.0/24'] } });
    await bench.whenReason('c', 'BlocksAssigned');
    expect(await bench.blocksOf('c')).toEqual(['10.2.0.0/25 Active']);
    expect(operator.metric('cadastre_nodes_unserved')).toBe(0);
  });

  test('of two that overlap the older one serves, and the younger one names it', async () => {
    await bench.createPool('older', {
      cidrs: ['10.1.0.0/23', '10.1.2.0/23'],
      blockSize: { ipv4: 24 },
      nodeSelector: rack('1'),
    });
    // Creation times are whole seconds; of the same second the name decides.
    await bench.createPool('younger', {
      cidrs: ['10.1.2.0/23'],
      blockSize: { ipv4: 24 },
      nodeSelector: rack('2'),
    });
    await bench.leader();
    await bench.createNode('a', { labels: { rack: '1' } });
    await bench.createNode('b', { labels: { rack: '2' } });
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await eventually(async () => {
      const { status } = await bench.pool('younger');
      const conflict = status?.conditions?.find(({ type }) => type === 'Conflict');
      expect(conflict).toMatchObject({ status: 'True' });
      expect(conflict?.message).toContain('older');
    });
    const message = await bench.whenReason('b', 'OverlappingPools');
    expect(message).toContain('older');
    // The quarrel ends, and with it the wait.
    await bench.patch(ipPools, 'older', { spec: { cidrs: ['10.1.0.0/23'] } });
    await eventually(async () => expect(await bench.blocksOf('b')).toEqual(['10.1.2.0/24 Active']));
  });

  test('one that is deleted stays until its last block is gone', async () => {
    await bench.createPool('p', {
      cidrs: ['10.1.0.0/24'],
      blockSize: { ipv4: 25 },
      cooldownSeconds: 0,
    });
    await bench.createNode('a');
    await bench.leader();
    await bench.whenBlocks(['10.1.0.0/25 a Active']);
    await bench.client.delete(ipPools, 'p');
    expect((await bench.pool('p')).metadata.deletionTimestamp).toBeDefined();
    await bench.retireNode('a');
    await eventually(async () => expect(await bench.list(ipPools)).toEqual([]));
    expect(await bench.blocks()).toEqual([]);
  });
});

describe('two families', () => {
  test('come together or not at all', async () => {
    await bench.createPool('p', {
      cidrs: ['10.1.0.0/22', 'fd00:1::/63'],
      blockSize: { ipv4: 24, ipv6: 64 },
    });
    await bench.leader();
    await bench.createNodes('a', 'b');
    const served = [
      '10.1.0.0/24 a Active',
      '10.1.1.0/24 b Active',
      'fd00:1::/64 a Active',
      'fd00:1:0:1::/64 b Active',
    ];
    await bench.whenBlocks(served);
    // IPv6 is full; there are IPv4 blocks, and nobody gets half.
    await bench.createNode('c');
    await bench.whenReason('c', 'PoolExhausted');
    await bench.patch(nodes, 'c', { metadata: { labels: { poke: '1' } } });
    await bench.createNode('d');
    await bench.whenReason('d', 'PoolExhausted');
    expect((await bench.blocks()).sort()).toEqual([...served].sort());
    const { annotations } = (await bench.node('b')).metadata;
    expect(annotations).toMatchObject({
      'network.cilium.io/ipv4-pod-cidr': '10.1.1.0/24',
      'network.cilium.io/ipv6-pod-cidr': 'fd00:1:0:1::/64',
    });
  });
});

describe('modes', () => {
  test('cluster-pool cuts from its flags, around the Service network, for CiliumNodes', async () => {
    await bench.registerCiliumNodes();
    const read = readClusterPool({
      enableIpv4: true,
      enableIpv6: false,
      ipv4Cidrs: ['10.96.0.0/14'],
      ipv4MaskSize: 16,
      ipv6Cidrs: [],
      ipv6MaskSize: 112,
      reserved: [],
      cooldownSeconds: 0,
    });
    if (read.kind === 'refused') throw new Error(read.problems.join());
    const families = new Set(['ipv4'] as const);
    await bench.leader({
      mode: 'cluster-pool',
      rules: { families, byDemand: false },
      clusterPool: read.pool,
    });
    await bench.createNodes('a', 'b');
    await bench.startCiliumOn('a', 'b');
    // The embedded server's Services live in 10.96.0.0/16.
    await bench.whenBlocks(['10.97.0.0/16 a Active', '10.98.0.0/16 b Active']);
    await eventually(async () => {
      const all = await bench.ciliumNodes();
      expect(all.map(({ spec }) => spec?.ipam?.podCIDRs)).toEqual([
        ['10.97.0.0/16'],
        ['10.98.0.0/16'],
      ]);
    });
  });

  test('kubernetes allocates nothing and writes nothing', async () => {
    await bench.createNode('a', { podCIDRs: ['10.5.0.0/24'] });
    const operator = bench.operator({ mode: 'kubernetes' });
    await bench.createService('web');
    await eventually(() =>
      expect(operator.operator.isSynced && operator.operator.isLeader).toBe(true),
    );
    expect(await bench.blocks()).toEqual([]);
    expect(bench.writesAbout()).toEqual([]);
  });
});
