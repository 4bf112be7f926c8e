import { describe, expect, test } from 'vitest';
import { nodeObject } from '../../test/register/objects.ts';
import { readCiliumNode } from './cilium-node.ts';
import { readNode } from './node.ts';
import { type KubeObject, textList, timestampMs } from './object.ts';

const ready = (status: string, message: string) => ({
  status: { conditions: [{ type: 'Ready', status, reason: 'KubeletNotReady', message }] },
});

describe('reading a Node', () => {
  test('keeps what judgement needs and drops the rest', () => {
    const object = nodeObject('node1', {
      uid: 'u1',
      labels: { rack: '83' },
      podCIDRs: ['10.5.113.0/24', 'fd00::/64'],
      annotations: {
        'network.cilium.io/ipv4-pod-cidr': '10.5.113.0/24',
        'io.cilium.network.ipv6-pod-cidr': 'fd00::/64',
        'example.com/other': 'x',
      },
      addresses: ['10.4.94.23', 'fd01::1'],
    });
    const status = object.status as { addresses: object[] };
    status.addresses.push({ type: 'Hostname', address: 'node1' }, { type: 'InternalIP' });
    expect(readNode(object)).toMatchObject({
      name: 'node1',
      uid: 'u1',
      labels: { rack: '83' },
      podCidrs: ['10.5.113.0/24', 'fd00::/64'],
      annotations: {
        'network.cilium.io/ipv4-pod-cidr': '10.5.113.0/24',
        'io.cilium.network.ipv6-pod-cidr': 'fd00::/64',
      },
      hasAnnotations: true,
      addresses: ['10.4.94.23', 'fd01::1'],
    });
  });

  test('the single podCIDR counts where the list is missing or empty', () => {
    expect(readNode({ spec: { podCIDR: '10.0.0.0/24' } }).podCidrs).toEqual(['10.0.0.0/24']);
    const both = { podCIDR: '10.0.0.0/24', podCIDRs: [] };
    expect(readNode({ spec: both }).podCidrs).toEqual(['10.0.0.0/24']);
    expect(readNode({ spec: { podCIDR: '' } }).podCidrs).toEqual([]);
  });

  test('no annotations at all and no annotation of ours are told apart', () => {
    expect(readNode({}).hasAnnotations).toBe(false);
    expect(readNode({ metadata: { annotations: null } }).hasAnnotations).toBe(false);
    expect(readNode({ metadata: { annotations: {} } }).hasAnnotations).toBe(true);
  });

  test('our own condition is found among the others', () => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'CadastreBlocksAssigned', status: 'False', reason: 'PoolExhausted', message: 'full' },
    ];
    expect(readNode({ status: { conditions } }).condition?.reason).toBe('PoolExhausted');
    expect(readNode({}).condition).toBeUndefined();
  });

  test.each<[string, KubeObject, object]>([
    ['cordoned', { spec: { unschedulable: true } }, { isCordoned: true }],
    [
      'cordoned, by the taint',
      { spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] } },
      { isCordoned: true },
    ],
    [
      'out of service',
      { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } },
      { isOutOfService: true },
    ],
    ['shutting down', ready('False', 'node is shutting down'), { isShuttingDown: true }],
    [
      'shutting down, among other errors',
      ready('False', '[container runtime is down, node is shutting down]'),
      { isShuttingDown: true },
    ],
    ['not ready for another reason', ready('False', 'container runtime is down'), {}],
    ['silent', ready('Unknown', 'Kubelet stopped posting node status.'), {}],
    [
      'not ready, by the taint',
      { spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] } },
      {},
    ],
    ['schedulable', { spec: { unschedulable: false, taints: [] } }, {}],
  ])('signs that it leaves: %s', (_, object, signs) => {
    const { isCordoned, isShuttingDown, isOutOfService } = readNode(object);
    expect({ isCordoned, isShuttingDown, isOutOfService }).toEqual(signs);
  });

  test.each([
    [{}, {}],
    [{ 'cadastre.dev/drain': 'true' }, { isLeaving: true }],
    [{ 'cadastre.dev/drain': '' }, { isLeaving: true }],
    [{ 'cadastre.dev/drain': 'false' }, { keepsRoutesWhenCordoned: true }],
  ])('what our annotation asks for: %j', (annotations, expected) => {
    const { isLeaving, keepsRoutesWhenCordoned } = readNode({ metadata: { annotations } });
    expect({ isLeaving, keepsRoutesWhenCordoned }).toEqual(expected);
  });

  test('nonsense from a file becomes something that is reported later, not an exception', () => {
    expect(readNode({ spec: { podCIDRs: '10.0.0.0/24' } }).podCidrs).toEqual(['10.0.0.0/24']);
    expect(readNode({ spec: { podCIDRs: [10, null] } }).podCidrs).toEqual(['10', 'null']);
  });
});

describe('reading a CiliumNode', () => {
  test.each([
    [undefined, [], { hasSpec: false, hasIpam: false, hasPodCidrs: false }],
    [{}, [], { hasSpec: true, hasIpam: false, hasPodCidrs: false }],
    [{ ipam: null }, [], { hasSpec: true, hasIpam: false, hasPodCidrs: false }],
    [{ ipam: {} }, [], { hasSpec: true, hasIpam: true, hasPodCidrs: false }],
    [{ ipam: { podCIDRs: null } }, [], { hasSpec: true, hasIpam: true, hasPodCidrs: false }],
    [{ ipam: { podCIDRs: [] } }, [], { hasSpec: true, hasIpam: true, hasPodCidrs: true }],
    [
      { ipam: { podCIDRs: ['10.0.0.0/24'] } },
      ['10.0.0.0/24'],
      { hasSpec: true, hasIpam: true, hasPodCidrs: true },
    ],
  ])('with spec %j', (spec, podCidrs, shape) => {
    expect(readCiliumNode({ metadata: { name: 'n' }, spec })).toEqual({
      name: 'n',
      uid: '',
      resourceVersion: '',
      podCidrs,
      ...shape,
    });
  });
});

describe('small readers', () => {
  test('a time that is none is the beginning of time', () => {
    for (const text of [undefined, null, '', 'soon']) expect(timestampMs(text)).toBe(0);
    expect(timestampMs('1970-01-01T00:00:01Z')).toBe(1000);
  });

  test('a list of strings is made of whatever is there', () => {
    expect(textList(undefined)).toEqual([]);
    expect(textList(null)).toEqual([]);
    expect(textList('a')).toEqual(['a']);
    expect(textList(['a', 1, { b: 2 }])).toEqual(['a', '1', '{"b":2}']);
  });
});
