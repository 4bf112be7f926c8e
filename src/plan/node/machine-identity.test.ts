import { expect, test } from 'vitest';
import { parseAddress } from '../../net/address.ts';
import { agentOf, holderOf, lacksAddresses } from './machine-identity.ts';

const a = agentOf('aaaa', '1');
const b = agentOf('bbbb', '7');

test('whose Node it is follows from the report', () => {
  expect(holderOf(undefined, a)).toEqual({ kind: 'nobody' });
  expect(holderOf(a, a)).toEqual({ kind: 'this-machine', isThisAgent: true });
  expect(holderOf(agentOf('aaaa', '0'), a)).toEqual({ kind: 'this-machine', isThisAgent: false });
  expect(holderOf(b, a)).toEqual({ kind: 'other-machine', machine: 'bbbb', asker: undefined });
});

test('a question leaves the machine as it is, and names who asks', () => {
  const question = { id: b.id, machine: a.machine };
  expect(holderOf(question, a)).toEqual({
    kind: 'this-machine',
    isThisAgent: false,
    question: 'bbbb',
  });
  expect(holderOf(question, b)).toEqual({ kind: 'other-machine', machine: 'aaaa', asker: 'bbbb' });
});

const held = ['127.0.0.1', '10.4.94.32', '2001:db8::1'].map((text) => parseAddress(text)!);

test('a machine is the Node if it has one of its addresses, however that is written', () => {
  const lacks = (...addresses: string[]) => lacksAddresses({ name: 'n1', addresses }, held);
  expect(lacks('10.4.94.32')).toBeUndefined();
  expect(lacks('10.4.94.33', '2001:DB8:0::1')).toBeUndefined();
  expect(lacks('10.4.94.33')).toContain('the Node n1 has the address 10.4.94.33');
  expect(lacks()).toBeUndefined();
  expect(lacks('no address')).toBeUndefined();
});
