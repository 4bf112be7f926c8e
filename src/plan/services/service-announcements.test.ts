import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readBgpAdvertisement } from '../../model/bgp-advertisement.ts';
import { loadConfigMap } from '../../model/bgp-config-map.ts';
import { poolsOfConfig } from '../../model/load-balancer-pool.ts';
import { parsePrefix } from '../../net/prefix.ts';
import {
  type AddressFact,
  type ServiceAnnouncementInput,
  type ServiceFact,
  serviceAnnouncements,
} from './service-announcements.ts';

const fact = (key: string, ingress: string[], more: Partial<ServiceFact> = {}): ServiceFact => ({
  key,
  uid: `uid ${key}`,
  ingress,
  isLocal: false,
  hasReady: false,
  ...more,
});
const held = (address: string, service: string, pool = 'lb'): AddressFact => ({
  address,
  pool,
  service,
  serviceUid: `uid ${service}`,
});
const block = (text: string) => ({ prefix: parsePrefix(text)! });

function plan(
  services: ServiceFact[],
  addresses: AddressFact[],
  more: Partial<ServiceAnnouncementInput> & { config?: string } = {},
) {
  const loaded = loadConfigMap(more.config ?? '');
  const pools = loaded.kind === 'config' ? poolsOfConfig(loaded.config) : [];
  return serviceAnnouncements({
    self: { name: 'n1', labels: {}, blocks: [block('10.5.113.0/24')] },
    others: [{ blocks: [block('10.5.115.0/24')] }],
    facts: { services, addresses, pools },
    advertisements: [],
    isLeaving: false,
    ...more,
  });
}

test('Cluster from every node, Local from one with a ready endpoint', () => {
  const services = [
    fact('d/a', ['10.6.0.1', 'fd00:6::1']),
    fact('d/b', ['10.6.0.2'], { isLocal: true }),
    fact('d/c', ['10.6.0.3'], { isLocal: true, hasReady: true }),
  ];
  const addresses = [
    held('10.6.0.1', 'd/a'),
    held('fd00:6::1', 'd/a'),
    held('10.6.0.2', 'd/b'),
    held('10.6.0.3', 'd/c'),
  ];
  const { announcements, findings } = plan(services, addresses);
  const prefixes = announcements.map(({ prefix }) => prefix);
  expect(prefixes).toEqual(['10.6.0.1/32', 'fd00:6::1/128', '10.6.0.3/32']);
  expect(findings).toEqual([]);
  const labels = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
  const self = { name: 'n1', labels, blocks: [] };
  expect(plan(services, addresses, { self }).announcements).toEqual([]);
});

test.each<[string, Partial<ServiceFact>, boolean, { isAnnounced: boolean; isOnlyHere: boolean }]>([
  ['ends, another is ready', { hasEnding: true }, false, { isAnnounced: false, isOnlyHere: false }],
  [
    'ends, no other is ready',
    { hasEnding: true, isOnlyHere: true },
    false,
    { isAnnounced: true, isOnlyHere: true },
  ],
  [
    'ends while the node leaves in order',
    { hasEnding: true },
    true,
    { isAnnounced: true, isOnlyHere: false },
  ],
  ['is gone', { isOnlyHere: true }, true, { isAnnounced: false, isOnlyHere: false }],
  [
    'is ready, and the only one',
    { hasReady: true, isOnlyHere: true },
    true,
    { isAnnounced: true, isOnlyHere: true },
  ],
])('Local: the endpoint here %s', (_, more, isLeaving, expected) => {
  const service = fact('d/a', ['10.6.0.1'], { isLocal: true, ...more });
  const { announcements, onlyHere } = plan([service], [held('10.6.0.1', 'd/a')], { isLeaving });
  const isAnnounced = announcements.length === 1;
  expect({ isAnnounced, isOnlyHere: onlyHere.has('10.6.0.1/32') }).toEqual(expected);
});

test('an address that nobody else would announce has a sentence about it', () => {
  const services = [
    fact('d/a', ['10.6.0.1'], { isOnlyHere: true }),
    fact('d/b', ['10.6.0.2'], { isLocal: true, hasReady: true, isOnlyHere: true }),
  ];
  const { onlyHere } = plan(services, [held('10.6.0.1', 'd/a'), held('10.6.0.2', 'd/b')]);
  expect([...onlyHere.values()]).toEqual([
    '10.6.0.1/32 of Service d/a stays announced: no other node stays that could announce it',
    '10.6.0.2/32 of Service d/b stays announced: no other node that stays has a ready endpoint',
  ]);
});

test('a registered address that the Service does not show yet is not announced', () => {
  expect(plan([fact('d/a', [])], [held('10.6.0.1', 'd/a')]).announcements).toEqual([]);
});

test('the guard: what the register gives to another, to pods or to nobody is not announced', () => {
  const config = 'address-pools: [{name: lb, protocol: bgp, addresses: [10.6.0.0/24]}]';
  const services = [
    fact('d/a', ['10.6.0.1', '10.6.0.2', '10.6.0.3', '10.5.115.9', '198.51.100.1']),
  ];
  const addresses = [
    held('10.6.0.1', 'd/b'),
    { ...held('10.6.0.2', 'd/a'), serviceUid: 'uid of before' },
    held('10.5.115.9', 'd/a'),
  ];
  const { announcements, findings } = plan(services, addresses, { config });
  expect(announcements).toEqual([]);
  expect(findings.map(({ reason, detail }) => `${reason}: ${detail.split(': ')[1]}`)).toEqual([
    'NotOwner: the register gives it to Service d/b',
    'NotOwner: the register gives it to an earlier Service of that name',
    'NotOwner: the register gives it to nobody',
    'NotOwner: it lies in 10.5.115.0/24, which pods have',
  ]);
});

test('a pool of the ConfigMap says its own length, preference and communities', () => {
  const config = `
address-pools:
- name: lb
  protocol: bgp
  addresses: [10.6.0.0/23]
  bgp-advertisements:
  - { aggregation-length: 32, localpref: 100, communities: [no-advertise] }
  - { aggregation-length: 24 }
bgp-communities: { no-advertise: '65535:65282' }`;
  const services = [fact('d/a', ['10.6.0.1']), fact('d/b', ['10.6.0.2'])];
  const addresses = [held('10.6.0.1', 'd/a'), held('10.6.0.2', 'd/b')];
  expect(plan(services, addresses, { config }).announcements).toEqual([
    { prefix: '10.6.0.1/32', communities: ['65535:65282'], localPref: 100 },
    { prefix: '10.6.0.0/24' },
    { prefix: '10.6.0.2/32', communities: ['65535:65282'], localPref: 100 },
  ]);
});

test('a BGPAdvertisement dresses the addresses of the pools that it names', () => {
  const advertisement = readBgpAdvertisement({
    metadata: { name: 'x' },
    spec: { pools: ['lb'], communities: ['64513:7'] },
  });
  const services = [fact('d/a', ['10.6.0.1']), fact('d/b', ['10.7.0.1'])];
  const addresses = [held('10.6.0.1', 'd/a'), held('10.7.0.1', 'd/b', 'other')];
  expect(plan(services, addresses, { advertisements: [advertisement] }).announcements).toEqual([
    { prefix: '10.6.0.1/32', communities: ['64513:7'] },
    { prefix: '10.7.0.1/32' },
  ]);
});

test('whatever Services show, only what the register gives them is announced, and nothing wider than a pool', () => {
  const low = fc.integer({ min: 0, max: 7 });
  const address = low.map((n) => `10.6.0.${n}`);
  const key = fc.constantFrom('d/a', 'd/b', 'd/c');
  const world = fc.record({
    shown: fc.array(fc.tuple(key, fc.uniqueArray(address, { maxLength: 3 }))),
    register: fc.uniqueArray(fc.tuple(address, key), { selector: ([one]) => one }),
    length: fc.integer({ min: 29, max: 32 }),
  });
  fc.assert(
    fc.property(world, ({ shown, register, length }) => {
      const config = `address-pools: [{name: lb, protocol: bgp, addresses: [10.6.0.0/29], bgp-advertisements: [{aggregation-length: ${length}}]}]`;
      const services = new Map(shown.map(([of, ingress]) => [of, fact(of, ingress)]));
      const addresses = register.map(([one, of]) => held(one, of));
      const { announcements, findings } = plan([...services.values()], addresses, { config });
      const owned = new Map(register);
      const right = [...services.values()].flatMap(({ key: of, ingress }) =>
        ingress.filter((one) => owned.get(one) === of),
      );
      const whole = parsePrefix('10.6.0.0/29')!;
      for (const { prefix } of announcements) {
        const made = parsePrefix(prefix)!;
        expect(whole.contains(made)).toBe(true);
        expect(right.some((one) => made.contains(parsePrefix(`${one}/32`)!))).toBe(true);
      }
      for (const one of right) {
        const isTold = announcements.some(({ prefix }) =>
          parsePrefix(prefix)!.contains(parsePrefix(`${one}/32`)!),
        );
        expect(isTold).toBe(true);
      }
      const wrong = [...services.values()].flatMap(({ ingress }) => ingress).length - right.length;
      expect(findings).toHaveLength(wrong);
    }),
  );
});
