/** What the leader does beside allocating: the history of blocks, and the continuous comparison. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import { readHistory } from '../model/block-history.ts';
import type { KubeObject } from '../model/object.ts';
import { blockHistories } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', {
    cidrs: ['10.5.0.0/24'],
    blockSize: { ipv4: 25 },
    cooldownSeconds: 0,
  });
});
afterEach(() => bench.end());

async function history(cidr: string): Promise<string[]> {
  const volumes = await bench.list<KubeObject>(blockHistories);
  const log = volumes.flatMap((volume) => readHistory(volume)).find((one) => one.cidr === cidr);
  return (log?.entries ?? []).map(({ event, node }) => `${event} ${node}`);
}

test('the history of a block is written down, also what happened while nobody led', async () => {
  // Long enough for the answer to a create to come after the watch has shown the block.
  const intervals = { history: { settleMs: 1_000, latestMs: 120_000, everyMs: 10 } };
  const first = await bench.leader({ intervals });
  await bench.createNode('node1');
  await bench.whenBlocks(['10.5.0.0/25 node1 Active']);
  await bench.report('node1', ['10.5.0.0/25']);
  await eventually(async () =>
    expect(await history('10.5.0.0/25')).toEqual(['Assigned node1', 'Announced node1']),
  );
  await bench.report('node1', []);
  await eventually(async () =>
    expect((await history('10.5.0.0/25')).at(-1)).toBe('Withdrawn node1'),
  );
  await first.crash();
  await bench.retireNode('node1');
  await bench.leader({ lease: { name: 'second' }, intervals });
  await bench.whenBlocks([]);
  await bench.createNode('node2');
  const entries = await eventually(async () => {
    const found = await history('10.5.0.0/25');
    expect(found.at(-1)).toBe('Assigned node2');
    return found;
  });
  expect(entries.filter((entry) => entry !== 'Cooling node1')).toEqual([
    'Assigned node1',
    'Announced node1',
    'Withdrawn node1',
    'Released node1',
    'Assigned node2',
  ]);
});

test('what stays wrong becomes a condition, an Event and a metric, and is cleared when it is right', async () => {
  const operator = await bench.leader({ intervals: { driftMs: 30 } });
  await bench.createNodes('node1', 'node2');
  await eventually(async () => expect(await bench.blocks()).toHaveLength(2));
  const [cidr = ''] = (await bench.blocksOf('node1')).map((line) => line.split(' ')[0]);
  // Its session is up, and its block is not announced there.
  await bench.report('node1', []);
  const drift = { reason: 'NotAnnounced' };
  const type = 'CadastreDrift';
  expect(await bench.whenReason('node1', drift.reason, type)).toContain(cidr);
  await eventually(async () => {
    expect(await bench.events('node1')).toMatchObject([{ type: 'Warning', ...drift }]);
  });
  expect(operator.metric('cadastre_drift_findings', drift)).toBe(1);
  await bench.report('node1', [cidr]);
  await bench.whenReason('node1', 'NoDrift', type);
  await eventually(() => expect(operator.metric('cadastre_drift_findings', drift)).toBe(0));
  expect((await bench.node('node2')).status?.conditions ?? []).toEqual([]);
});
