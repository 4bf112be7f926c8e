import { expect, test } from 'vitest';
import { ciliumNode, cleanWorlds, node, prefix } from '../../test/doctor/worlds.ts';
import { parseAddress } from '../net/address.ts';
import { judge } from '../plan/doctor/judge.ts';
import { readLocalKernel } from './local-kernel.ts';

const route = (text: string, via?: string, type: 'unicast' | 'blackhole' = 'unicast') => ({
  prefix: prefix(text),
  type,
  protocol: 83,
  ...(via === undefined ? {} : { via: parseAddress(via)! }),
});

const kernel = (...routes: ReturnType<typeof route>[]) => ({
  routes: async () => routes,
  addresses: async () => new Map([['eth0', [{ address: parseAddress('10.0.0.1')!, length: 24 }]]]),
});

const evidence = cleanWorlds['cluster-pool of Cilium'];

test('the machine is the node that has its address; pods’ routes are told from ways to others', async () => {
  const { table, source } = await readLocalKernel(
    kernel(
      route('0.0.0.0/0', '10.0.0.254'),
      route('10.0.0.0/24'),
      route('10.1.0.0/24', '10.1.0.7'),
      route('10.1.1.0/24', '10.0.0.2'),
      route('10.1.0.9/32'),
    ),
    evidence().nodes,
  );
  expect(source).toMatchObject({ name: 'kernel of a', holds: '2 routes', ageSeconds: 0 });
  expect(table.routes.map(({ prefix: at, isLocal }) => [`${at}`, isLocal])).toEqual([
    ['10.1.0.0/24', true],
    ['10.1.1.0/24', false],
  ]);
  expect(judge({ ...evidence(), kernel: table })).toEqual([]);
});

test('a block of another that goes to a third node is a detour; a stranger’s block taken for its own disagrees', async () => {
  const { table } = await readLocalKernel(
    kernel(route('10.1.9.0/24', undefined, 'blackhole'), route('10.1.1.0/24', '10.0.0.3')),
    evidence().nodes,
    'a',
  );
  const three = {
    ...evidence(),
    nodes: [...evidence().nodes, node('c', '10.0.0.3')],
    ciliumNodes: [...evidence().ciliumNodes, ciliumNode('c', '10.1.2.0/24')],
    routers: [],
    kernel: table,
  };
  expect(judge(three).map(({ reason, node: who, prefix: at }) => [reason, who, at])).toEqual([
    ['Detour', 'c', '10.1.1.0/24'],
    ['SourcesDisagree', 'a', '10.1.0.0/24'],
  ]);
});

test('a machine that is no node is refused', async () => {
  const elsewhere = [node('x', '10.9.9.9')];
  await expect(readLocalKernel(kernel(), elsewhere)).rejects.toThrow(
    'no Node has an address of this machine',
  );
  await expect(readLocalKernel(kernel(), elsewhere, 'y')).rejects.toThrow('there is no Node y');
});
