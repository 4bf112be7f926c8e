import { expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import { gatewayOf, hostAddresses, podAddresses, podRange } from './block-addresses.ts';
import { PodAddressSpace } from './pod-address.ts';

test.each([
  ['10.0.0.0/24', 253n, 254n, '10.0.0.1'],
  ['10.0.0.0/28', 13n, 14n, '10.0.0.1'],
  ['10.0.0.0/30', 1n, 2n, '10.0.0.1'],
  ['10.0.0.0/31', 2n, 2n, undefined],
  ['10.0.0.0/32', 1n, 1n, undefined],
  ['fd00::/126', 1n, 2n, 'fd00::1'],
  ['fd00::/127', 2n, 2n, undefined],
  ['fd00::/128', 1n, 1n, undefined],
  ['fd00::/64', 2n ** 64n - 3n, 2n ** 64n - 2n, 'fd00::1'],
])('%s has %s addresses for pods, %s with its gateway', (text, pods, hosts, gateway) => {
  const prefix = parsePrefix(text)!;
  expect(podAddresses(prefix)).toBe(pods);
  expect(hostAddresses(prefix)).toBe(hosts);
  expect(gatewayOf(prefix)?.toString()).toBe(gateway);
});

const small = [20, 24, 28, 29, 30, 31, 32].map((length) => `10.0.0.0/${length}`);
const smallV6 = [116, 120, 124, 126, 127, 128].map((length) => `fd00::/${length}`);

test.each([...small, ...smallV6])('%s: exactly as many are given as are counted', (text) => {
  const prefix = parsePrefix(text)!;
  const space = new PodAddressSpace();
  space.setBlocks([{ prefix, isDraining: false }]);
  const given = new Set<string>();
  for (;;) {
    const choice = space.choose({ families: [prefix.family] }, 0);
    if (choice.kind === 'refused') break;
    for (const address of choice.addresses) {
      space.take(address);
      given.add(address.toString());
    }
  }
  expect(BigInt(given.size)).toBe(podAddresses(prefix));
  const { lowest, highest } = podRange(prefix);
  expect(given.has(prefix.first().plus(lowest).toString())).toBe(true);
  expect(given.has(prefix.first().plus(highest).toString())).toBe(true);
});
