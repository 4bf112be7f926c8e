/** Two machines with one node name: one serves, the other one says why it does not. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AgentBench } from '../../test/parts/agent-bench.ts';
import { until } from '../../test/parts/test-api.ts';
import { parseAddress } from '../net/address.ts';

const reportPath = '/apis/cadastre.dev/v1alpha1/nodereports/n1';
let first: AgentBench;
let second: AgentBench;
let uid: string;

beforeEach(async () => {
  first = await AgentBench.make();
  uid = first.putNode('n1', '10.4.94.32');
  first.putBlock('10.5.113.0/24', 'n1', uid);
});
afterEach(async () => {
  await second?.stop();
  await first.end();
});

const ready = (bench: AgentBench) => until('it is ready', () => bench.agent.status.state.isReady);
const says = (bench: AgentBench, reason: string) =>
  until(reason, () => bench.agent.status.state.reason === reason);
const give = (bench: AgentBench) => bench.book.allocate({ owner: 'pod', families: ['ipv4'] });
const holder = () => (first.report()?.agent as { machine?: string } | undefined)?.machine;
const add = (bench: AgentBench, command: string) =>
  bench.agent.addresses!.cni.handle({
    command,
    containerId: 'c1',
    netns: '/run/netns/c1',
    ifname: 'eth0',
    args: '',
    plugin: 'cadastre',
    stdin: JSON.stringify({ cniVersion: '1.1.0', name: 'pods', type: 'cadastre' }),
  });

async function servesNothing(bench: AgentBench, reason: string) {
  await says(bench, reason);
  expect(bench.announced).toEqual([]);
  expect(await give(bench)).toMatchObject({ kind: 'refused' });
  bench.kernel.addNamespace('/run/netns/c1');
  const answer = await add(bench, 'ADD');
  expect(answer).toMatchObject({ isError: true });
  expect(JSON.stringify(answer.body)).toContain(reason);
}

/** The first machine serves, is cut off, another takes the Node over, and the first hears of it. */
async function replaceFirst() {
  await first.start();
  await ready(first);
  await until('the report', () => holder() === 'aaaa');
  const report = first.api.object(reportPath)!;
  const agent = { id: 'bbbb-1', machine: 'bbbb' };
  first.api.put(reportPath, { ...report, spec: { ...first.report(), agent } });
  await servesNothing(first, 'DuplicateAgent');
}

describe('a machine without an address of the Node', () => {
  test('serves nothing, whoever else serves it, and leaves its report and condition alone', async () => {
    await first.start();
    await ready(first);
    await until('the report', () => holder() === 'aaaa');
    second = first.beside('bbbb', '10.4.94.99');
    await second.start();
    await servesNothing(second, 'NotThisMachine');
    expect(second.agent.status.state.detail).toContain('the Node n1 has the address 10.4.94.32');
    expect(holder()).toBe('aaaa');
    expect(first.agent.status.state.isReady).toBe(true);
    expect(first.conditions.join()).not.toContain('NotThisMachine');
  });

  test('says so on the Node if nobody else serves it, and serves when it gets the address', async () => {
    second = first.beside('bbbb', '10.4.94.99');
    await second.start();
    await servesNothing(second, 'NotThisMachine');
    await until('the condition', () =>
      first.conditions.includes('CadastreAgentReady False NotThisMachine'),
    );
    const eth0 = second.namespace.links.get('eth0')!;
    eth0.addresses.push({ address: parseAddress('10.4.94.32')!, length: 24 });
    second.namespace.emit({
      kind: 'address',
      change: 'set',
      linkName: 'eth0',
      address: parseAddress('10.4.94.32')!,
    });
    await ready(second);
    expect(second.prefixes()).toEqual(['10.5.113.0/24']);
  });
});

describe('two machines that both have the address', () => {
  test('the later one serves nothing while the first one answers, and both say so', async () => {
    await first.start();
    await ready(first);
    await until('the report', () => holder() === 'aaaa');
    second = first.beside('bbbb', '10.4.94.32');
    await second.start();
    await servesNothing(second, 'DuplicateAgent');
    await until('the answer was heard', () =>
      second.agent.status.state.detail.includes('is alive'),
    );
    expect(second.agent.status.state.detail).toContain('machine aaaa');
    await until('the first one reports it', () =>
      JSON.stringify(first.api.object(reportPath)?.status).includes('the agent of machine bbbb'),
    );
    expect(first.agent.status.state.isReady).toBe(true);
    expect(first.prefixes()).toEqual(['10.5.113.0/24']);
    expect(holder()).toBe('aaaa');
  });

  test('a machine that does not answer is replaced; when it comes back it is the later one', async () => {
    await first.start();
    await ready(first);
    await until('the report', () => holder() === 'aaaa');
    await first.stop();
    second = first.beside('bbbb', '10.4.94.32');
    await second.start({ answerWithinMs: 100 });
    await ready(second);
    expect(second.prefixes()).toEqual(['10.5.113.0/24']);
    await until('it took over', () => holder() === 'bbbb');
    await first.start();
    await servesNothing(first, 'DuplicateAgent');
  });

  test('one that was cut off and replaced takes its routes back when it hears of it', async () => {
    await replaceFirst();
  });

  test('one that was replaced stays out after a restart, also without the API server', async () => {
    await replaceFirst();
    await first.stop();
    first.cutOff();
    await first.start({ apiGraceMs: 50 });
    await says(first, 'BlockUnconfirmed');
    expect(first.announced).toEqual([]);
  });

  test('started at the same time, one of them serves', async () => {
    second = first.beside('bbbb', '10.4.94.32');
    await Promise.all([first.start(), second.start()]);
    await until('one serves, one does not', () => {
      const reasons = [first, second].map(({ agent }) => agent.status.state.reason).sort();
      return reasons.join() === 'AgentReady,DuplicateAgent';
    });
    const prefixes = [first, second].map((bench) => bench.prefixes().length).sort();
    expect(prefixes).toEqual([0, 1]);
  });
});

test('a restart on the same machine waits for nobody, even with a question in its report', async () => {
  await first.start();
  await ready(first);
  await until('the report', () => holder() === 'aaaa');
  await first.stop();
  const report = first.api.object(reportPath)!;
  const agent = { id: 'bbbb-1', machine: 'aaaa' };
  first.api.put(reportPath, { ...report, spec: { ...first.report(), agent } });
  await first.start({ answerWithinMs: 3_600_000 });
  await ready(first);
  await until('the answer', () =>
    String((first.report()?.agent as { id?: string })?.id).startsWith('aaaa-'),
  );
});
