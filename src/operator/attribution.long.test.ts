/** Where agents are not bound to their nodes, no report releases a block, and a person still can. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import { nodeBlocks, nodeReports } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/24'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
  // Nobody has installed the policy.
  await bench.leader({ believeReports: 'attributed' });
  await bench.createNode('a');
  await bench.whenBlocks(['10.1.0.0/24 a Active']);
});
afterEach(() => bench.end());

const name = '10-1-0-0-24';
const block = () => bench.client.get<BlockObject>(nodeBlocks, name);
const change = (spec: object) =>
  bench.client.patch(nodeBlocks, name, { type: 'merge', body: { spec } });
const whenDoubted = (says: string) =>
  eventually(async () => {
    const [condition] = (await block()).status?.conditions ?? [];
    expect(condition).toMatchObject({ type: 'Releasable', reason: 'ReportNotAttributed' });
    expect(condition?.message).toContain(
      `the report of a says that ${says}, but any agent could have written it: the ValidatingAdmissionPolicy cadastre-agent-own-node is not installed`,
    );
  });

test('the block of a node that is gone waits, says why, and goes by the word of a person', async () => {
  await bench.retireNode('a');
  await whenDoubted('it does not use the block');
  await change({ released: { by: 'Administrator', at: '2026-01-01T00:00:00Z' } });
  await bench.whenBlocks([]);
});

test('a live node keeps the block that its report gives back, until the report says otherwise', async () => {
  const { metadata } = await bench.node('a');
  const { uid } = (await block()).metadata;
  const releases = [{ cidr: '10.1.0.0/24', uid }];
  await bench.createOurs(nodeReports, 'a', { nodeUID: metadata.uid, releases });
  await change({ phase: 'Draining' });
  await whenDoubted('it gave it back');
  expect(await bench.blocks()).toEqual(['10.1.0.0/24 a Draining']);
  const body = { spec: { releases: [] } };
  await bench.client.patch(nodeReports, 'a', { type: 'merge', body });
  await eventually(async () => expect((await block()).status?.conditions ?? []).toEqual([]));
});
