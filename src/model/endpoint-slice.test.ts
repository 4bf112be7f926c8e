import { expect, test } from 'vitest';
import { readReadyEndpoints, trimEndpoints } from './endpoint-slice.ts';

const slice = (...endpoints: Array<[nodeName: string, conditions?: object]>) =>
  readReadyEndpoints({
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    endpoints: endpoints.map(([nodeName, conditions]) => ({ nodeName, conditions })),
  });

test('which endpoints are ready, which end and still serve, which are of no use', () => {
  const read = slice(
    ['a'],
    ['a', {}],
    ['b', { ready: true }],
    ['c', { ready: false, serving: true, terminating: true }],
    ['d', { ready: false, serving: false, terminating: true }],
    ['e', { ready: false }],
  );
  expect(read).toMatchObject({ service: 'shop/web', nodes: ['a', 'b'], ending: ['c'] });
  expect(slice(['a'])).not.toHaveProperty('ending');
});

test('a node keeps its own endpoints and two others', () => {
  const read = slice(['d'], ['c'], ['b'], ['a'], ['a', { ready: false, serving: true }]);
  expect(trimEndpoints(read, 'a')).toMatchObject({ nodes: ['a', 'b', 'c'], ending: ['a'] });
  expect(trimEndpoints(read, 'x')).toMatchObject({ nodes: ['a', 'b'] });
  expect(trimEndpoints(read, 'x')).not.toHaveProperty('ending');
});
