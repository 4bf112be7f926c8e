import { expect, test } from 'vitest';
import { clusterKinds } from './cluster-kinds.ts';

test('a NodeReport of a file may have null where a list belongs: it is read as absent', () => {
  const report = {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name: 'master1' },
    spec: {},
  };
  const status = { sessions: null, blocks: [] };
  const read = clusterKinds.reports.read({ ...report, status });
  expect(read.item?.status).toEqual({ blocks: [] });
  for (const none of [null, 'x', 5]) {
    expect(clusterKinds.reports.read({ ...report, status: none }).item?.status).toBeUndefined();
  }
});
