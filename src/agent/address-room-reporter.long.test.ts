/** A node without a free pod address: its pods are well, and people and schedulers are told. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import type { Condition } from '../model/object.ts';

let bench: AgentBench;

beforeEach(async () => {
  bench = await AgentBench.make();
  const other = { key: 'example.com/other', effect: 'NoExecute' };
  const uid = bench.putNode('n1', '10.4.94.32', {
    spec: { taints: [other] },
    status: { addresses: [{ type: 'InternalIP', address: '10.4.94.32' }] },
  });
  bench.putBlock('10.5.113.0/29', 'n1', uid);
});
afterEach(() => bench.end());

const ready = () => until('it is ready', () => bench.agent.status.state.isReady);
const node = () => bench.api.object('/api/v1/nodes/n1')!;
const condition = () => {
  const { conditions = [] } = node().status as { conditions?: Condition[] };
  const found = conditions.find(({ type }) => type === 'CadastrePodAddressesFree');
  return found && `${found.status} ${found.reason}: ${found.message}`;
};
const taints = () => (node().spec as { taints?: Array<{ key: string }> }).taints?.map((t) => t.key);
const fill = async () => {
  for (let i = 0; i < 5; i++) await bench.book.allocate({ owner: `${i}`, families: ['ipv4'] });
};
const status = () =>
  bench.agent.addresses!.cni.handle({
    command: 'STATUS',
    containerId: '',
    netns: '',
    ifname: '',
    args: '',
    plugin: 'cadastre',
    stdin: JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre' }),
  });

test('the condition comes and goes by itself; STATUS stays well, and no taint is set unasked', async () => {
  await bench.start();
  await ready();
  expect(condition()).toBeUndefined();
  await fill();
  await until('it is full', () => condition() !== undefined);
  expect(condition()).toMatch(/^False BlockFull: 0 of 5 IPv4 addresses of 10.5.113.0.29 are free/);
  expect(await status()).toMatchObject({ isError: false });
  expect(taints()).toEqual(['example.com/other']);
  await bench.book.release('0');
  await until('it has room', () => condition()?.startsWith('True AddressesFree') === true);
});

test('the taint comes and goes with it, and leaves those of others alone', async () => {
  await bench.start({ taintWhenFull: true });
  await ready();
  await fill();
  const both = 'example.com/other,cadastre.dev/no-pod-addresses';
  await until('the taint', () => taints()?.join() === both);
  // What an earlier run left there is removed as well.
  await bench.stop();
  await bench.start({ taintWhenFull: true });
  await ready();
  expect(taints()?.join()).toBe(both);
  await bench.book.release('0');
  await until('no taint', () => taints()?.join() === 'example.com/other');
});
