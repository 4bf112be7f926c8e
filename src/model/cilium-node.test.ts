import { expect, test } from 'vitest';
import { readCiliumEndpoint } from './cilium-endpoint.ts';
import { readCiliumNode } from './cilium-node.ts';

test('of a CiliumNode: what its agent really uses, and asks for', () => {
  const read = readCiliumNode({
    metadata: { name: 'n1', uid: 'u' },
    spec: {
      addresses: [
        { type: 'InternalIP', ip: '192.168.0.1' },
        { type: 'CiliumInternalIP', ip: '10.50.0.7' },
        null,
        { type: 'CiliumInternalIP', ip: 5 },
      ],
      ipam: {
        pools: {
          allocated: [{ pool: 'a', cidrs: ['10.1.0.0/27'] }, 'no'],
          requested: [{ pool: 'a', needed: { 'ipv4-addrs': 16, 'ipv6-addrs': -1 } }],
        },
      },
    },
    status: { ipam: { 'operator-status': { error: 'no room' } } },
  });
  expect(read).toMatchObject({
    internalIps: ['10.50.0.7'],
    nodeIps: ['192.168.0.1'],
    poolCidrs: ['10.1.0.0/27'],
    pools: [{ pool: 'a', cidrs: ['10.1.0.0/27'] }],
    requested: [{ pool: 'a', needed: { ipv4: 16, ipv6: 0 } }],
    operatorError: 'no room',
    hasPodCidrs: false,
  });
});

test('a CiliumNode of nothing, and lists that are none', () => {
  expect(readCiliumNode({ metadata: { name: 'n1' } })).toMatchObject({ podCidrs: [] });
  const odd = { addresses: 'x', ipam: { pools: { allocated: {}, requested: 4 }, podCIDRs: null } };
  const read = readCiliumNode({ metadata: { name: 'n1' }, spec: odd, status: { ipam: null } });
  expect(read).toMatchObject({ podCidrs: [], hasPodCidrs: false, hasIpam: true });
  expect(read.pools).toBeUndefined();
});

test('of a CiliumEndpoint: the addresses of its pod, and where it lives', () => {
  const read = readCiliumEndpoint({
    metadata: { name: 'web-1', namespace: 'shop' },
    status: {
      networking: { node: '192.168.0.1', addressing: [{ ipv4: '10.50.0.28', ipv6: 'fd00::1c' }] },
    },
  });
  expect(read).toMatchObject({
    namespace: 'shop',
    nodeIp: '192.168.0.1',
    addresses: ['10.50.0.28', 'fd00::1c'],
  });
  const young = readCiliumEndpoint({ metadata: { name: 'web-1' }, status: null });
  expect(young).toMatchObject({ nodeIp: '', addresses: [] });
});
