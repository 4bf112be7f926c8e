import { describe, expect, test } from 'vitest';
import { stateOfObjects } from '../../model/cluster-state.ts';
import type { KubeObject } from '../../model/object.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { AgentUses, nodesAStep, usedWords } from './agent-uses.ts';

const prefix = (text: string) => parsePrefix(text)!;

const node = (name: string, address: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid: name },
  status: { addresses: [{ type: 'InternalIP', address }] },
});

const ciliumNode = (name: string, internal: string, cidr: string): KubeObject => ({
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumNode',
  metadata: { name },
  spec: { addresses: [{ type: 'CiliumInternalIP', ip: internal }], ipam: { podCIDRs: [cidr] } },
});

const pod = (name: string, nodeName: string, podIP: string, meta = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name, ...meta },
  spec: { nodeName },
  status: { phase: 'Running', podIP },
});

const endpoint = (name: string, nodeIp: string, ipv4: string): KubeObject => ({
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumEndpoint',
  metadata: { namespace: 'shop', name },
  status: { networking: { node: nodeIp, addressing: [{ ipv4 }] } },
});

const uses = (...objects: KubeObject[]) => new AgentUses(stateOfObjects(objects));

describe('what the agent of a node uses', () => {
  test('its own address tells the block that it serves from', () => {
    const n1 = uses(ciliumNode('n1', '10.50.0.17', '10.60.0.0/24')).of('n1');
    expect(n1.servesFrom(prefix('10.50.0.0/24'))).toBe('yes');
    expect(n1.servesFrom(prefix('10.60.0.0/24'))).toBe('no');
    expect(n1.servesFrom(prefix('fd00::/64'))).toBe('unknown');
  });

  test('a node without a CiliumNode is not known', () => {
    expect(uses().of('n1').servesFrom(prefix('10.50.0.0/24'))).toBe('unknown');
  });

  test('in mode multi-pool it serves from every block that it was given', () => {
    const object = ciliumNode('n1', '10.50.0.17', '');
    object.spec = {
      ...(object.spec as object),
      ipam: { pools: { allocated: [{ pool: 'other', cidrs: ['10.70.0.0/28'] }] } },
    };
    const n1 = uses(object).of('n1');
    expect(n1.servesFrom(prefix('10.70.0.0/28'))).toBe('yes');
    expect(n1.servesFrom(prefix('10.71.0.0/28'))).toBe('no');
  });

  test('pods and endpoints of one pod are one address', () => {
    const n1 = uses(
      node('n1', '192.0.2.1'),
      pod('a', 'n1', '10.50.0.28'),
      endpoint('a', '192.0.2.1', '10.50.0.28'),
      endpoint('b', '192.0.2.1', '10.60.0.3'),
    ).of('n1');
    expect(usedWords(n1.addresses)).toBe('10.50.0.28 of shop/a, 10.60.0.3 of shop/b');
    expect(n1.addresses.map(({ seenIn }) => seenIn)).toEqual([
      'Pod and CiliumEndpoint',
      'CiliumEndpoint',
    ]);
    expect(usedWords(n1.podsIn(prefix('10.50.0.0/24')))).toBe('10.50.0.28 of shop/a');
    expect(usedWords(n1.podsOutside([prefix('10.50.0.0/24')]))).toBe('10.60.0.3 of shop/b');
    // Of IPv4 the node has no block: that is another fault.
    expect(n1.podsOutside([prefix('fd00::/64')])).toEqual([]);
  });

  test('an endpoint is placed by its node, else by its pod, else nowhere', () => {
    const seen = uses(
      pod('a', 'n1', '10.50.0.28'),
      endpoint('a', '', '10.50.0.29'),
      endpoint('b', '192.0.2.9', '10.50.0.30'),
    );
    expect(usedWords(seen.of('n1').addresses)).toBe('10.50.0.28 of shop/a, 10.50.0.29 of shop/a');
    expect(usedWords(seen.homeless)).toBe('10.50.0.30 of shop/b');
  });
});

describe('an address on several pods', () => {
  const nodes = [node('n1', '192.0.2.1'), node('n4', '192.0.2.4')];

  test('is seen in pods alone, and in endpoints alone', () => {
    const pods = uses(...nodes, pod('a', 'n1', '10.50.0.28'), pod('b', 'n4', '10.50.0.28'));
    const endpoints = uses(
      ...nodes,
      endpoint('a', '192.0.2.1', '10.50.0.28'),
      endpoint('b', '192.0.2.4', '10.50.0.28'),
    );
    for (const seen of [pods, endpoints]) {
      const [shared, ...more] = seen.shared();
      expect(more).toEqual([]);
      expect(`${shared?.address}`).toBe('10.50.0.28');
      expect(shared?.pods.map(({ node: at, pod: name }) => `${name} on ${at}`)).toEqual([
        'shop/a on n1',
        'shop/b on n4',
      ]);
    }
  });

  test('is none while one of them is being deleted, or only its endpoint is left', () => {
    const ending = pod('a', 'n1', '10.50.0.28', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const b = pod('b', 'n4', '10.50.0.28');
    expect(uses(...nodes, ending, b).shared()).toEqual([]);
    expect(uses(...nodes, endpoint('a', '192.0.2.1', '10.50.0.28'), b).shared()).toEqual([]);
  });

  test('is found in steps, so that others may go on meanwhile', () => {
    const many = Array.from({ length: 5 * nodesAStep }, (_, at) =>
      pod(`p${at}`, `m${at}`, `10.60.${at >> 8}.${at & 255}`),
    );
    const seen = uses(...many, pod('last', 'z', '10.60.0.0'));
    const steps = seen.sharedInSteps();
    let pauses = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) pauses++;
    expect(pauses).toBe(5);
    expect(step.value).toEqual(seen.shared());
    expect(step.value.map(({ pods }) => pods.map((one) => one.node))).toEqual([['m0', 'z']]);
  });

  test('is none where a pod of the same name came back on another node', () => {
    const old = endpoint('web-0', '192.0.2.1', '10.50.0.28');
    expect(uses(...nodes, old, pod('web-0', 'n4', '10.50.0.28')).shared()).toEqual([]);
  });
});
