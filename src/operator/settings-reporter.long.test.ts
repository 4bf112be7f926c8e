/** How the operator was started, as it stands in the cluster. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prefix } from '../../test/doctor/worlds.ts';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { KubeObject } from '../model/object.ts';
import { operatorReportName } from '../model/operator-report.ts';
import { operatorReports } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const stored = () => bench.client.get<KubeObject>(operatorReports, operatorReportName);

const quick = { intervals: { surroundingsMs: 50 } };

test('a leader writes it, and no other replica does', async () => {
  const serviceNetworks = [{ name: 'services', prefix: prefix('10.96.0.0/12') }];
  const leader = await bench.leader({ version: '1.2.3', serviceNetworks });
  const report = await eventually(stored);
  expect(report.spec).toEqual({
    mode: 'ip-pool',
    version: '1.2.3',
    identity: leader.identity,
    serviceCIDRs: ['10.96.0.0/12'],
    project: ['annotations'],
  });
  const second = bench.operator({ version: '9.9.9' });
  await eventually(() => expect(second.operator.isSynced).toBe(true));
  const by = bench.writes.filter(({ resource }) => resource === 'operatorreports');
  expect(by.map((write) => write.by)).toEqual([leader.identity]);
});

test('what somebody deleted or changed is written again; what is right is left alone', async () => {
  await bench.leader(quick);
  await eventually(stored);
  await bench.client.delete(operatorReports, operatorReportName);
  await eventually(stored);
  const body = { spec: { mode: 'kubernetes' } };
  await bench.client.patch(operatorReports, operatorReportName, { type: 'merge', body });
  await eventually(async () => expect((await stored()).spec).toMatchObject({ mode: 'ip-pool' }));
  const { resourceVersion } = (await stored()).metadata ?? {};
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await stored()).metadata?.resourceVersion).toBe(resourceVersion);
});

test('a replica that takes over says how it was started itself', async () => {
  const first = await bench.leader({ version: '1' });
  await eventually(stored);
  await first.stop();
  await bench.leader({ version: '2' });
  await eventually(async () => expect((await stored()).spec).toMatchObject({ version: '2' }));
});
