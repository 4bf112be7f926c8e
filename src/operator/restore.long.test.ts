/** An etcd restored from a backup: what agents use is taken back before anything new is cut. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type BenchOperator,
  eventually,
  OperatorBench,
} from '../../test/operator/operator-bench.ts';
import { eventually as patiently } from '../../test/world/eventually.ts';
import { leaseResource } from '../kube/lease-object.ts';
import { ipPools } from '../model/resources.ts';
import { readClusterPool } from '../plan/pools/cluster-pool.ts';
import { operatorDefaults } from './operator-settings.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 26 } });
});
afterEach(() => bench.end());

/** Longer than any test: only what agents say ends the waiting. */
const forEver = 3_600_000;
const { namespace, name } = operatorDefaults.lease;

/** As it is in a backup of some minutes ago. */
async function ageLease(holderIdentity: string): Promise<void> {
  const renewTime = new Date(Date.now() - 600_000).toISOString().replace('Z', '000Z');
  const body = { spec: { holderIdentity, renewTime, leaseDurationSeconds: 1 } };
  await bench.client.patch(leaseResource, name, { type: 'merge', body, namespace });
}

describe('while no operator was running', () => {
  /** Nodes a and b join after the backup; then the operator dies and the backup is restored. */
  async function restored(): Promise<void> {
    const first = await bench.leader();
    await bench.createNode('old');
    await bench.whenBlocks(['10.1.0.0/26 old Active']);
    await bench.reportUses('old', ['10.1.0.0/26']);
    const backup = await bench.backUp();
    await bench.createNode('a');
    await eventually(async () =>
      expect(await bench.blocksOf('a')).toEqual(['10.1.0.64/26 Active']),
    );
    await bench.createNode('b');
    await eventually(async () =>
      expect(await bench.blocksOf('b')).toEqual(['10.1.0.128/26 Active']),
    );
    await first.crash();
    await bench.restore(backup);
    await ageLease('operator-1');
    // Registered again in another order.
    await bench.createNode('b');
    await bench.createNode('a');
  }

  test('nodes that joined after the backup keep their blocks, in whatever order they register again', async () => {
    await restored();
    const operator = bench.operator({ settleAfterRestoreMs: forEver });
    const why = await bench.whenReason('a', 'WaitingForRegister');
    expect(why).toContain('the Lease was last renewed at');
    await bench.reportUses('old', ['10.1.0.0/26'], { ipv4: 1 });
    await bench.reportUses('b', ['10.1.0.128/26']);
    // What is reported is taken back while the others are waited for.
    await eventually(async () =>
      expect(await bench.blocksOf('b')).toEqual(['10.1.0.128/26 Active']),
    );
    expect(await bench.blocksOf('a')).toEqual([]);
    await bench.createNode('new');
    await bench.reportUses('new', []);
    await bench.reportUses('a', ['10.1.0.64/26']);
    await operator.whenAllocating();
    await bench.whenBlocks([
      '10.1.0.0/26 old Active',
      '10.1.0.64/26 a Active',
      '10.1.0.128/26 b Active',
      '10.1.0.192/26 new Active',
    ]);
    await bench.whenReason('a', 'BlocksAssigned');
    await eventually(async () => {
      const events = (await bench.events('a')).map(
        ({ reason, message }) => `${reason}: ${message}`,
      );
      expect(events.join('\n')).toContain(
        'RestoredFromBackup: 10.1.0.64/26 was not in the register although the agent of a uses it',
      );
    });
  });

  test('an agent that never speaks is waited for as long as was said, and no longer', async () => {
    await restored();
    await bench.reportUses('a', ['10.1.0.64/26']);
    await bench.reportUses('b', ['10.1.0.128/26']);
    const operator = await bench.leader({ settleAfterRestoreMs: 200 });
    await bench.whenBlocks([
      '10.1.0.0/26 old Active',
      '10.1.0.64/26 a Active',
      '10.1.0.128/26 b Active',
    ]);
    // All three were there in the same versions from the start.
    expect(operator.logged(({ nodes, count }) => nodes !== undefined && count === 3)).toHaveLength(
      1,
    );
  });

  test('a Node that registers before its agent has spoken for it gets no block of another', async () => {
    await restored();
    await bench.reportUses('a', ['10.1.0.64/26']);
    await bench.reportUses('b', ['10.1.0.128/26']);
    // Their agents go on, and report what they use for Nodes that are not there yet.
    for (const node of ['a', 'b']) await bench.deleteNode(node);
    await bench.leader({ settleAfterRestoreMs: 0 });
    await bench.createNode('b');
    await bench.createNode('new');
    const why = await bench.whenReason('b', 'WaitingForRegister');
    expect(why).toContain('10.1.0.128/26');
    await bench.whenBlocks(['10.1.0.0/26 old Active', '10.1.0.192/26 new Active']);
    await bench.reportUses('b', ['10.1.0.128/26']);
    await bench.whenBlocks([
      '10.1.0.0/26 old Active',
      '10.1.0.128/26 b Active',
      '10.1.0.192/26 new Active',
    ]);
  });

  test.each([
    ['a first start', async () => {}],
    [
      'a lease that was released, however long ago',
      async () => {
        await (await bench.leader()).stop();
        await ageLease('');
      },
    ],
    [
      'a crash some seconds ago',
      async () => {
        await (await bench.leader()).crash();
      },
    ],
  ])('%s is no reason to wait', async (_, before) => {
    await before();
    await bench.createNode('a');
    await bench.leader({ settleAfterRestoreMs: forEver });
    await bench.whenBlocks(['10.1.0.0/26 a Active']);
  });
});

describe('under a leader that runs on', () => {
  /** A cache that only goes by version numbers accepts an older store after a minute. */
  const patience = { withinMs: 150_000, everyMs: 50 };
  const whenNoticed = (operator: BenchOperator) =>
    patiently(() => {
      const signs = operator.logged(({ reason, level }) => {
        return reason === 'RestoredFromBackup' && level === 'warn';
      });
      if (signs.length === 0) throw new Error(`nothing was noticed:\n${operator.tail()}`);
    }, patience);

  test('second blocks of cluster-pool-v2 are not swapped', { timeout: 240_000 }, async () => {
    const read = readClusterPool({
      enableIpv4: true,
      enableIpv6: false,
      ipv4Cidrs: ['10.2.0.0/24'],
      ipv4MaskSize: 28,
      ipv6Cidrs: [],
      ipv6MaskSize: 112,
      reserved: [],
      cooldownSeconds: 300,
    });
    if (read.kind === 'refused') throw new Error(read.problems.join());
    const chosen = {
      mode: 'cluster-pool-v2',
      rules: { families: new Set(['ipv4'] as const), byDemand: true },
      clusterPool: read.pool,
      projections: [],
      settleAfterRestoreMs: forEver,
    };
    const operator = await bench.leader(chosen);
    await bench.createNode('a');
    await eventually(async () => expect(await bench.blocksOf('a')).toHaveLength(1));
    await bench.createNode('b');
    const firsts = ['10.2.0.0/28 a Active', '10.2.0.16/28 b Active'];
    await bench.whenBlocks(firsts);
    await bench.reportUses('a', ['10.2.0.0/28'], { ipv4: 8 });
    await bench.reportUses('b', ['10.2.0.16/28'], { ipv4: 8 });
    const backup = await bench.backUp();
    await bench.reportUses('a', ['10.2.0.0/28'], { ipv4: 16 });
    await bench.whenBlocks([...firsts, '10.2.0.32/28 a Active']);
    await bench.reportUses('a', ['10.2.0.0/28', '10.2.0.32/28'], { ipv4: 16 });
    await bench.reportUses('b', ['10.2.0.16/28'], { ipv4: 16 });
    const before = [...firsts, '10.2.0.32/28 a Active', '10.2.0.48/28 b Active'];
    await bench.whenBlocks(before);
    await bench.reportUses('b', ['10.2.0.16/28', '10.2.0.48/28'], { ipv4: 16 });

    await bench.restore(backup);
    // The agents speak in the other order, and a new node comes in between.
    await bench.reportUses('b', ['10.2.0.16/28', '10.2.0.48/28'], { ipv4: 16 });
    await bench.createNode('new');
    await whenNoticed(operator);
    await bench.reportUses('a', ['10.2.0.0/28', '10.2.0.32/28'], { ipv4: 16 });
    await bench.whenBlocks([...before, '10.2.0.64/28 new Active']);
    await eventually(() => {
      const [summary] = operator.logged(({ detail }) => typeof detail === 'object');
      expect(summary).toMatchObject({ detail: { disputed: 0, missing: 0 } });
    });
  });

  test('nodes that joined after the backup get their own blocks back', {
    timeout: 240_000,
  }, async () => {
    const operator = await bench.leader({ settleAfterRestoreMs: forEver });
    await bench.createNode('old');
    await bench.whenBlocks(['10.1.0.0/26 old Active']);
    await bench.reportUses('old', ['10.1.0.0/26']);
    const backup = await bench.backUp();
    await bench.createNode('a');
    await eventually(async () => expect(await bench.blocksOf('a')).toHaveLength(1));
    await bench.createNode('b');
    const before = ['10.1.0.0/26 old Active', '10.1.0.64/26 a Active', '10.1.0.128/26 b Active'];
    await bench.whenBlocks(before);
    await bench.reportUses('a', ['10.1.0.64/26']);
    await bench.reportUses('b', ['10.1.0.128/26']);

    await bench.restore(backup);
    await bench.createNode('b');
    await bench.createNode('a');
    await whenNoticed(operator);
    await bench.reportUses('b', ['10.1.0.128/26']);
    await bench.reportUses('a', ['10.1.0.64/26']);
    // The report of `old` is as it was: its agent has nothing to add.
    await bench.whenBlocks(before);
    await bench.createNode('new');
    await bench.whenBlocks([...before, '10.1.0.192/26 new Active']);
  });

  test('a block that the backup gives to another is not taken from either', {
    timeout: 240_000,
  }, async () => {
    await bench.patch(ipPools, 'p', { spec: { cooldownSeconds: 0 } });
    const operator = await bench.leader({ settleAfterRestoreMs: 1_000 });
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/26 a Active']);
    const backup = await bench.backUp();
    // Gone for good, and its block given to b.
    await bench.retireNode('a');
    await bench.whenBlocks([]);
    await bench.createNode('b');
    await bench.whenBlocks(['10.1.0.0/26 b Active']);
    await bench.reportUses('b', ['10.1.0.0/26']);

    await bench.restore(backup);
    await bench.createNode('b');
    await whenNoticed(operator);
    await bench.reportUses('b', ['10.1.0.0/26']);
    const why = await bench.whenReason('b', 'RestoredFromBackup');
    expect(why).toContain('10.1.0.0/26 is held by a and by b');
    await bench.whenBlocks(['10.1.0.0/26 a Active']);
  });
});
