import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { FakeNamespace } from '../kernel/fake/fake-namespace.ts';
import { FakeKernel } from '../kernel/fake-kernel.ts';
import type { KubeClient } from '../kube/client.ts';
import { readNode } from '../model/node.ts';
import { parseAddress } from '../net/address.ts';
import type { AgentState } from './agent-status.ts';
import { NodeIdentity } from './node-identity.ts';

const ready: AgentState = { isReady: true, reason: 'AgentReady', detail: '' };
const memory: AgentState = { isReady: true, reason: 'WorkingFromMemory', detail: '' };
const node = (...addresses: string[]) =>
  readNode({
    metadata: { name: 'n1', uid: 'u' },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  });

/** A node in memory: there is no claim, only addresses. */
function bench() {
  let nowMs = 0;
  const namespace = new FakeNamespace();
  const link = namespace.addLink({ name: 'eth0', kind: '', mac: '02:00:00:00:00:01', mtu: 1500 });
  const identity = new NodeIdentity({
    client: { patch: async () => ({}) } as unknown as KubeClient,
    kernel: new FakeKernel(new Map(), namespace),
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    random: () => 0,
    log: silentLog,
    nodeName: 'n1',
    answerWithinMs: 90_000,
    onChange: () => undefined,
  });
  return {
    has(...addresses: string[]) {
      link.addresses = addresses.map((text) => ({ address: parseAddress(text)!, length: 24 }));
    },
    pass(ms: number) {
      nowMs += ms;
    },
    judge: async (of = node('10.4.94.32'), state = ready) => (await identity.judge(of, state)).kind,
  };
}

test('an address that goes for a moment stops nobody that serves; one that stays away does', async () => {
  const { has, pass, judge } = bench();
  has('10.4.94.32');
  expect(await judge()).toBe('serve');
  has();
  expect(await judge()).toBe('serve');
  pass(29_999);
  expect(await judge()).toBe('serve');
  has('10.4.94.32');
  expect(await judge()).toBe('serve');
  has('10.4.94.99');
  expect(await judge()).toBe('serve');
  pass(30_000);
  expect(await judge()).toBe('stand-by');
  // The kubelet has told the Node of the new address.
  expect(await judge(node('10.4.94.99'))).toBe('serve');
});

test('one that has not served yet gets no grace', async () => {
  const { has, judge } = bench();
  has('10.4.94.99');
  expect(await judge()).toBe('stand-by');
  expect(await judge(node())).toBe('serve');
});

test('without the API server what was known counts', async () => {
  const { has, pass, judge } = bench();
  has();
  expect(await judge(node('10.4.94.32'), memory)).toBe('serve');
  pass(60_000);
  expect(await judge(node('10.4.94.32'), memory)).toBe('serve');
  expect(await judge()).toBe('serve');
  pass(30_000);
  expect(await judge()).toBe('stand-by');
  expect(await judge(node('10.4.94.32'), memory)).toBe('stand-by');
});
