import { expect, test } from 'vitest';
import { readCiliumPodPool } from './cilium-pod-pool.ts';

const read = (spec: unknown) => {
  const { cidrs, maskSize } = readCiliumPodPool({ metadata: { name: 'p' }, spec });
  return { cidrs: cidrs.map(String), maskSize };
};

test('ranges and sizes of both families, and the labels', () => {
  expect(
    read({
      ipv4: { cidrs: ['10.10.0.0/16', '10.20.0.1/16'], maskSize: 27 },
      ipv6: { cidrs: ['fd00:1::/96'], maskSize: 112 },
    }),
  ).toEqual({
    cidrs: ['10.10.0.0/16', '10.20.0.0/16', 'fd00:1::/96'],
    maskSize: { ipv4: 27, ipv6: 112 },
  });
  const metadata = { name: 'p', labels: { rack: '1' } };
  expect(readCiliumPodPool({ metadata, spec: {} })).toMatchObject(metadata);
});

test.each([
  null,
  'x',
  { ipv4: null },
  { ipv4: { cidrs: [1, null, 'x'], maskSize: '27' } },
  { ipv4: [] },
])('whatever stands there instead says nothing: %j', (spec) => {
  expect(read(spec)).toEqual({ cidrs: [], maskSize: {} });
});
