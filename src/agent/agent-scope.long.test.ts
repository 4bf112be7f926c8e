import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import { askAgent } from './ask-agent.ts';

let bench: AgentBench;
let uid: string;

beforeEach(async () => {
  bench = await AgentBench.make();
  uid = bench.putNode('n1', '10.4.94.32');
  bench.putBlock('10.5.113.0/24', 'n1', uid);
  const other = bench.putNode('n2', '10.4.94.21');
  bench.putBlock('10.5.115.0/24', 'n2', other);
});
afterEach(() => bench.end());

const ready = () => until('it is ready', () => bench.agent.status.state.isReady);
const kernelText = () =>
  JSON.stringify([[...bench.namespace.links.values()].map(({ name }) => name), bench.routes()]);
const status = () => askAgent(`${bench.folder}/agent.sock`, 'GET', '/v1/status');

describe('an agent that only announces', () => {
  test('announces the blocks of its node, and changes nothing in the kernel or on the Node', async () => {
    const before = kernelText();
    await bench.start({ scope: 'announcements' });
    await ready();
    await until('the block is announced', () => bench.prefixes().join() === '10.5.113.0/24');
    await until('it has reported', () => bench.reports.length > 0);
    expect(kernelText()).toBe(before);
    expect(bench.steps.filter((step) => step.startsWith('kernel'))).toEqual([]);
    expect(bench.conditions).toEqual([]);
    expect(bench.agent.addresses).toBeUndefined();
  });

  test('its report says so, and claims, needs, gives back and fences nothing', async () => {
    await bench.start({ scope: 'announcements', byDemand: true });
    await ready();
    await until('it has reported', () => bench.reports.length > 0);
    expect(bench.report()).toMatchObject({
      scope: 'Announcements',
      uses: [],
      releases: [],
      fenced: [],
    });
    bench.putBlock('10.5.113.0/24', 'n1', uid, 'Cooling');
    await until('the block is withdrawn', () => bench.prefixes().length === 0);
    await new Promise((done) => setTimeout(done, 300));
    expect(bench.report()).toMatchObject({ uses: [], releases: [], fenced: [] });
  });

  test('a block that is confirmed again after a fence is announced again', async () => {
    await bench.start({ scope: 'announcements' });
    await until('announced', () => bench.prefixes().length === 1);
    bench.putBlock('10.5.113.0/24', 'n1', uid, 'Cooling');
    await until('withdrawn', () => bench.prefixes().length === 0);
    bench.putBlock('10.5.113.0/24', 'n1', uid);
    await until('announced again', () => bench.prefixes().length === 1);
  });

  test('a draining block is not taken for an empty one', async () => {
    await bench.start({ scope: 'announcements' });
    await ready();
    bench.putBlock('10.5.113.0/24', 'n1', uid, 'Draining');
    await new Promise((done) => setTimeout(done, 300));
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
    expect(bench.report()).toMatchObject({ releases: [] });
  });

  test('a block that the register has lost stays announced: pods may live in it', async () => {
    await bench.start({ scope: 'announcements', pace: { missingGraceMs: 10 } });
    await until('announced', () => bench.prefixes().length === 1);
    bench.deleteBlock('10.5.113.0/24');
    await until('it is missed', () =>
      bench.agent.status.json().findings.some(({ reason }) => reason === 'BlockMissing'),
    );
    await new Promise((done) => setTimeout(done, 300));
    expect(bench.prefixes()).toEqual(['10.5.113.0/24']);
    expect(bench.report()).toMatchObject({ uses: [] });
  });

  test('its socket has its status, and nothing for the CNI plugin', async () => {
    await bench.start({ scope: 'announcements', filePeers: [] });
    await ready();
    expect(await status()).toMatchObject({
      blocks: [],
      agent: { ready: true, mode: { scope: 'announcements' } },
    });
    await expect(askAgent(`${bench.folder}/agent.sock`, 'POST', '/cni', {})).rejects.toThrow();
  });

  test('an agent that gives addresses again says so', async () => {
    await bench.start({ scope: 'announcements' });
    await until('it has reported', () => bench.report()?.scope === 'Announcements');
    await bench.stop();
    await bench.start();
    await until('it claims its block', () => JSON.stringify(bench.report()?.uses).includes('113'));
    expect(bench.report()?.scope).toBeUndefined();
  });
});

describe('an agent that gives addresses to another CNI plugin', () => {
  const call = (command: string, type: string, containerId = 'c1') =>
    bench.agent.addresses!.cni.handle({
      command,
      containerId,
      netns: '/run/netns/x',
      ifname: 'eth0',
      args: '',
      plugin: 'cadastre',
      stdin: JSON.stringify({
        cniVersion: '1.0.0',
        name: 'cilium',
        type,
        ipam: type === 'cadastre' ? {} : { type: 'cadastre' },
      }),
    });

  test('gives, keeps and frees addresses, announces the block, and touches no kernel', async () => {
    const before = kernelText();
    await bench.start({ scope: 'addresses' });
    await ready();
    const first = await call('ADD', 'cilium-cni');
    expect(first).toMatchObject({
      isError: false,
      body: { ips: [{ address: '10.5.113.2/24', gateway: '10.5.113.1' }] },
    });
    // Answered, the caller would fail at the interface, and then free the address of a living pod.
    expect(await call('ADD', 'cilium-cni')).toMatchObject({ isError: true });
    const second = await call('ADD', 'cilium-cni', 'c2');
    expect(second).not.toEqual(first);
    await bench.agent.addresses!.cni.sweep();
    expect([...bench.book.remembered()]).toHaveLength(2);
    expect(await call('DEL', 'cilium-cni')).toMatchObject({ isError: false });
    expect([...bench.book.remembered()]).toHaveLength(1);
    await until('announced', () => bench.prefixes().join() === '10.5.113.0/24');
    expect(kernelText()).toBe(before);
    expect(bench.report()).toMatchObject({ uses: [{ cidr: '10.5.113.0/24' }] });
    expect(bench.report()?.scope).toBeUndefined();
  });

  test('refuses to make an interface', async () => {
    await bench.start({ scope: 'addresses' });
    await ready();
    const { isError, body } = await call('ADD', 'cadastre');
    expect(isError).toBe(true);
    expect(JSON.stringify(body)).toContain('--wiring=false');
  });
});
