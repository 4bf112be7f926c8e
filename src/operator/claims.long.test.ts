/** One node claims far too much, or has its address inside a pool: every other node is served. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import { nodes } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const annotation = 'network.cilium.io/ipv4-pod-cidr';

test.each(['10.0.0.0/8', '10.1.0.0/17'])(
  'the annotation %s stops no pool; its node, the pool and an Event say why',
  async (cidr) => {
    await bench.createPool('p', { cidrs: ['10.1.0.0/16'], blockSize: { ipv4: 24 } });
    await bench.createNode('claimer', { annotations: { [annotation]: cidr } });
    await bench.createNodes('a', 'b');
    const operator = await bench.leader();
    // What is left of the pool is given out first: somebody may live in what is claimed.
    const first = cidr === '10.1.0.0/17' ? 128 : 0;
    await bench.whenBlocks([`10.1.${first}.0/24 a Active`, `10.1.${first + 1}.0/24 b Active`]);
    const message = await bench.whenReason('claimer', 'ClaimRefused');
    expect(message).toContain(
      `${cidr} of claimer (by the annotation network.cilium.io/…-pod-cidr) is larger than a /24 block of pool p`,
    );
    await eventually(async () => {
      expect((await bench.events('claimer')).map(({ reason }) => reason)).toEqual(['ClaimRefused']);
      const { status } = await bench.pool('p');
      expect(status).toMatchObject({ assigned: 2, free: 254 });
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'ClaimsRefused',
          status: 'True',
          message: `not adopted, and kept from nobody else: ${cidr} of claimer (by the annotation network.cilium.io/…-pod-cidr)`,
        }),
      );
    });
    expect(operator.metric('cadastre_findings', { reason: 'ClaimRefused' })).toBe(1);
    // The claim goes, and its node is served like any other.
    await bench.patch(nodes, 'claimer', { metadata: { annotations: { [annotation]: null } } });
    await bench.whenReason('claimer', 'BlocksAssigned');
    await eventually(async () => {
      const { conditions = [] } = (await bench.pool('p')).status ?? {};
      expect(conditions.map(({ type }) => type)).toEqual(['Ready', 'Exhausted', 'Conflict']);
    });
  },
);

test('an InternalIP inside a pool keeps the block around it from being given out, and no other', async () => {
  await bench.createPool('p', { cidrs: ['10.1.0.0/22'], blockSize: { ipv4: 24 } });
  await bench.createNode('inside', { addresses: ['10.1.0.7'] });
  await bench.createNodes('a', 'b');
  await bench.leader();
  await eventually(async () => {
    const cidrs = (await bench.blocks()).map((line) => line.split(' ')[0]);
    expect(cidrs).toEqual(['10.1.1.0/24', '10.1.2.0/24', '10.1.3.0/24']);
  });
  await eventually(async () => {
    expect(await bench.events('inside')).toMatchObject([
      {
        reason: 'OverlapsNetwork',
        message: expect.stringContaining('the block around it, 10.1.0.0/24, is given to no node'),
      },
    ]);
  });
  // The next one hears who takes the room, and is served when that node is gone.
  await bench.createNode('c');
  expect(await bench.whenReason('c', 'PoolExhausted')).toBe(
    'ipv4: pool p has no free ipv4 block; addresses of inside lie in it',
  );
  await bench.deleteNode('inside');
  await eventually(async () => {
    expect(await bench.blocksOf('c')).toEqual(['10.1.0.0/24 Active']);
  });
});

test('a NodeReport that uses the whole pool gets none of it', async () => {
  await bench.createPool('p', { cidrs: ['10.1.0.0/21'], blockSize: { ipv4: 24 } });
  await bench.createNode('reporter');
  await bench.reportUses('reporter', ['10.1.0.0/21']);
  await bench.createNodes('a');
  await bench.leader();
  await bench.whenBlocks(['10.1.0.0/24 a Active']);
  await bench.whenReason('reporter', 'ClaimRefused');
});
