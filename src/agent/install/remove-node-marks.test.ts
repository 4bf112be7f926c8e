import { expect, test } from 'vitest';
import { removeNodeMarks } from './remove-node-marks.ts';

/** A client of one Node that records what is patched. */
function clientOf(node: object) {
  const patches: unknown[] = [];
  const client = {
    get: async () => node,
    patch: async (_: unknown, name: string, options: { body: unknown; subresource?: string }) => {
      patches.push([name, options.subresource ?? '', options.body]);
    },
  } as unknown as Parameters<typeof removeNodeMarks>[0];
  return { client, patches };
}

test('our conditions and our taint go, those of others stay', async () => {
  const taints = [
    { key: 'cadastre.dev/no-pod-addresses', effect: 'NoSchedule' },
    { key: 'theirs' },
  ];
  const { client, patches } = clientOf({
    spec: { taints },
    status: {
      conditions: [{ type: 'Ready' }, { type: 'CadastreAgentReady' }, { type: 'CadastreDrift' }],
    },
  });
  expect((await removeNodeMarks(client, 'n1')).removed).toEqual([
    'condition CadastreAgentReady of Node n1',
    'condition CadastreDrift of Node n1',
    'taint cadastre.dev/no-pod-addresses of Node n1',
  ]);
  expect(patches).toEqual([
    [
      'n1',
      'status',
      {
        status: {
          conditions: [
            { type: 'CadastreAgentReady', $patch: 'delete' },
            { type: 'CadastreDrift', $patch: 'delete' },
          ],
        },
      },
    ],
    [
      'n1',
      '',
      [
        { op: 'test', path: '/spec/taints', value: taints },
        { op: 'replace', path: '/spec/taints', value: [{ key: 'theirs' }] },
      ],
    ],
  ]);
});

test('a Node without them is not written', async () => {
  const { client, patches } = clientOf({ spec: {}, status: { conditions: [{ type: 'Ready' }] } });
  expect(await removeNodeMarks(client, 'n1')).toEqual({ removed: [], kept: [] });
  expect(patches).toEqual([]);
});
