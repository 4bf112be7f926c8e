import { expect, test } from 'vitest';
import { readCiliumOperator } from './cilium-operator.ts';

const deployment = (args: unknown, replicas?: number) => ({
  spec: { replicas, template: { spec: { containers: [{ command: ['cilium-operator'], args }] } } },
});

test('whether it runs, and the mode of its own flag', () => {
  expect(readCiliumOperator(deployment(['--ipam=kubernetes'], 2))).toEqual({
    runs: true,
    ipam: 'kubernetes',
  });
  expect(readCiliumOperator(deployment(['--ipam', 'multi-pool'], 0))).toEqual({
    runs: false,
    ipam: 'multi-pool',
  });
  expect(readCiliumOperator(deployment(['--ipam=a', '--debug', '--ipam=b']))).toMatchObject({
    ipam: 'b',
  });
});

test('anything else says nothing about the mode', () => {
  for (const args of [undefined, null, 'text', [1, null], ['--ipam']]) {
    expect(readCiliumOperator(deployment(args))).toEqual({ runs: true });
  }
  expect(readCiliumOperator({})).toEqual({ runs: true });
});
