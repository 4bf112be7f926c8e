import { expect, test } from 'vitest';
import { readNode } from '../model/node.ts';
import type { SavedNode } from '../model/node-migration.ts';
import type { KubeObject } from '../model/object.ts';
import { nodeWithRecords, recordsOnlyForAdoption, savedLabels } from './migration-record.ts';

const from = ['10.50.0.0/24'];
const saved = (more: object = {}, cilium?: readonly string[]): SavedNode => ({
  node: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, ...more },
  ...(cilium === undefined ? {} : { ciliumPodCidrs: cilium }),
});
const annotationsOf = (node: KubeObject) => node.metadata?.annotations ?? {};

test('a block that only its CiliumNode named is on the Node too: the CiliumNode goes with the old Node', () => {
  const before = saved({}, from);
  const made = nodeWithRecords(before, from);
  expect(annotationsOf(made)['network.cilium.io/ipv4-pod-cidr']).toBe('10.50.0.0/24');
  // Once it is adopted that record goes: no operator that projects elsewhere would keep it true.
  expect(recordsOnlyForAdoption(before, readNode(made))).toEqual({
    'network.cilium.io/ipv4-pod-cidr': null,
    'io.cilium.network.ipv4-pod-cidr': null,
  });
});

test('what Node.spec or an annotation said is put back as it was, and stays', () => {
  const bySpec = saved({ spec: { podCIDR: '10.50.0.0/24', podCIDRs: from } }, from);
  expect(annotationsOf(nodeWithRecords(bySpec, from))).toEqual({});
  const annotations = { 'network.cilium.io/ipv4-pod-cidr': '10.50.0.0/24' };
  const byAnnotation = saved({ metadata: { name: 'n1', annotations } });
  const made = nodeWithRecords(byAnnotation, from);
  expect(annotationsOf(made)).toEqual(annotations);
  expect(recordsOnlyForAdoption(byAnnotation, readNode(made))).toEqual({});
});

test('a Node goes back with the labels that it has now', () => {
  const before = saved({ metadata: { name: 'n1', labels: { rack: 'new', zone: 'a' } } });
  const now = readNode({ metadata: { name: 'n1', labels: { zone: 'b', disk: 'ssd' } } });
  expect(savedLabels(before, now)).toEqual({
    node: { metadata: { labels: { rack: null, zone: 'b', disk: 'ssd' } } },
  });
});
