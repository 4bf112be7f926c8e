import { describe, expect, test } from 'vitest';
import { at, blockObject, second } from '../../test/register/objects.ts';
import { blockName, readBlock, writeBlock, writeGuard } from './node-block.ts';

const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

describe('the name of a block', () => {
  test.each([
    ['10.5.113.0/24', '10-5-113-0-24'],
    ['0.0.0.0/0', '0-0-0-0-0'],
    ['fd00::/64', 'fd00---64'],
    ['fd00:5:0:1::/64', 'fd00-5-0-1---64'],
    ['2001:db8:1:2:3:4:5:6/128', '2001-db8-1-2-3-4-5-6-128'],
  ])('%s is %s, which Kubernetes accepts', (cidr, name) => {
    expect(blockName(at(cidr))).toBe(name);
    expect(name).toMatch(dnsName);
  });

  test('is the same however the CIDR was spelled', () => {
    expect(blockName(at('fd00:0:0:0::/64'))).toBe(blockName(at('FD00::/64')));
    expect(blockName(at('10.5.113.7/24'))).toBe('10-5-113-0-24');
  });
});

describe('reading a NodeBlock', () => {
  test('what was written is read back', () => {
    const written = writeBlock({
      prefix: at('10.5.113.0/24'),
      pool: 'rack-83',
      nodeName: 'node1',
      nodeUid: 'u1',
    });
    const read = readBlock({
      ...written,
      metadata: {
        ...written.metadata,
        uid: 'b1',
        resourceVersion: '9',
        creationTimestamp: second(3),
      },
    });
    expect(read).toMatchObject({
      kind: 'block',
      block: {
        name: '10-5-113-0-24',
        uid: 'b1',
        resourceVersion: '9',
        pool: 'rack-83',
        nodeName: 'node1',
        nodeUid: 'u1',
        phase: 'Active',
        coolingSinceMs: 0,
        guards: [],
        createdMs: Date.parse(second(3)),
        deleting: false,
      },
    });
  });

  test('a guard belongs to no node and names what it guards', () => {
    const read = readBlock(writeGuard(at('10.0.0.0/24'), 'p', ['10.0.0.0/27']));
    expect(read).toMatchObject({
      kind: 'block',
      block: { phase: 'Guard', nodeName: '', nodeUid: '', guards: ['10.0.0.0/27'] },
    });
  });

  test('a cooling block knows since when; one without a date counts from the beginning', () => {
    const cooling = readBlock(
      blockObject('10.0.0.0/24', 'a', { phase: 'Cooling', coolingSince: 5 }),
    );
    expect(cooling).toMatchObject({ block: { coolingSinceMs: Date.parse(second(5)) } });
    const spec = { cidr: '10.0.0.0/24', phase: 'Cooling', coolingSince: 'yesterday' };
    expect(readBlock({ spec })).toMatchObject({ block: { phase: 'Cooling', coolingSinceMs: 0 } });
  });

  test('a phase of the future is an active block: it keeps its addresses', () => {
    const spec = { cidr: '10.0.0.0/24', phase: 'Frozen', node: { name: 'a', uid: 'u' } };
    expect(readBlock({ spec })).toMatchObject({ block: { phase: 'Active', nodeName: 'a' } });
  });

  test.each([undefined, null, 7, '', '10.0.0.0', 'all'])('no CIDR in %j is malformed', (cidr) => {
    expect(readBlock({ metadata: { name: 'x' }, spec: { cidr } })).toEqual({
      kind: 'malformed',
      identity: { name: 'x', uid: '', resourceVersion: '' },
      problem: `spec.cidr is ${JSON.stringify(cidr)}, not a CIDR`,
    });
  });

  test('an object without anything is malformed, not an exception', () => {
    expect(readBlock({}).kind).toBe('malformed');
    expect(readBlock({ spec: { cidr: '10.0.0.0/24', node: null, guards: 'x' } })).toMatchObject({
      block: { nodeName: '', guards: [] },
    });
  });
});
