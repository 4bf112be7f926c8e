import { expect, test } from 'vitest';
import { groupVersion, objectKey, type Resource, resourceName, resourcePath } from './resource.ts';

const nodes: Resource = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
};
const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

test('paths follow the API: core and named groups, namespaces, subresources', () => {
  expect(resourcePath(nodes)).toBe('/api/v1/nodes');
  expect(resourcePath(nodes, { name: 'a', subresource: 'status' })).toBe('/api/v1/nodes/a/status');
  expect(resourcePath(leases)).toBe('/apis/coordination.k8s.io/v1/leases');
  expect(resourcePath(leases, { namespace: 'kube-system', name: 'x' })).toBe(
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x',
  );
});

test('a cluster-scoped resource ignores a namespace', () => {
  expect(resourcePath(nodes, { namespace: 'default', name: 'a' })).toBe('/api/v1/nodes/a');
});

test('a name cannot leave its place in the path', () => {
  expect(resourcePath(nodes, { name: '../pods?x=1' })).toBe('/api/v1/nodes/..%2Fpods%3Fx%3D1');
});

test('names as people say them', () => {
  expect(resourceName(leases)).toBe('leases.coordination.k8s.io');
  expect(resourceName(nodes)).toBe('nodes');
  expect(groupVersion(leases)).toBe('coordination.k8s.io/v1');
  expect(objectKey({ name: 'a' })).toBe('a');
  expect(objectKey({ name: 'a', namespace: 'b' })).toBe('b/a');
});
