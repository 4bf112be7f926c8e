import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readRib } from './read-rib.ts';
import type { RibDump } from './rib-dump.ts';

const dump = (name: string) =>
  readFileSync(new URL(`../../../test/doctor/fixtures/ribs/${name}.dump`, import.meta.url), 'utf8');

function read(text: string): RibDump {
  const found = readRib(text);
  if (found.kind !== 'rib') throw new Error(found.problem);
  return found.rib;
}

function refusal(text: string): string {
  const found = readRib(text);
  return found.kind === 'refused' ? found.problem : `understood as ${found.rib.format}`;
}

const listed = ({ routes }: RibDump) =>
  routes
    .filter(({ nextHop }) => nextHop !== '')
    .map(({ prefix, nextHop, isUsed }) => `${prefix} ${nextHop}${isUsed ? '' : ' (spare)'}`)
    .sort();

/** What the four nodes had announced when the routers printed these. */
const ipv4 = [
  '10.5.112.0/24 10.4.94.32',
  '10.5.113.0/24 10.4.94.31',
  '10.5.114.0/24 10.4.94.21',
  '10.5.115.0/24 10.4.94.23',
];
const ipv6 = [
  'fd00:5:112::/64 fd00:94::32',
  'fd00:5:113::/64 fd00:94::31',
  'fd00:5:114::/64 fd00:94::21',
  'fd00:5:115::/64 fd00:94::23',
];
/** Two nodes announced 10.5.120.0/24: FRR uses both paths, the others the first. */
const shared = (other: '' | ' (spare)') => [
  '10.5.120.0/24 10.4.94.21',
  `10.5.120.0/24 10.4.94.32${other}`,
];

describe('what real routers printed', () => {
  test.each([
    ['frr-ipv4', 'FRR', [...ipv4, ...shared('')]],
    ['frr-detail', 'FRR', [...ipv4, ...shared('')]],
    ['frr-vrf-all', 'FRR', [...ipv4, ...shared('')]],
    ['frr-ipv6', 'FRR', ipv6],
    ['frr-both-families', 'FRR', [...ipv4, ...shared(''), ...ipv6]],
    ['bird-all', 'BIRD', [...ipv4, ...shared(' (spare)'), ...ipv6]],
    ['bird-short', 'BIRD', [...ipv4, ...shared(' (spare)'), ...ipv6]],
    ['bird-primary', 'BIRD', [...ipv4, shared('')[0]!, ...ipv6]],
    ['gobgp-ipv4', 'GoBGP', [...ipv4, ...shared(' (spare)')]],
    ['gobgp-ipv6', 'GoBGP', ipv6],
    ['gobgp-adj-in', 'GoBGP', [ipv4[3]!]],
    ['openbgpd', 'OpenBGPD', [...ipv4, ...shared(' (spare)'), ...ipv6]],
    ['openbgpd-best', 'OpenBGPD', [...ipv4, shared('')[0]!, ...ipv6]],
  ])('%s', (name, format, routes) => {
    const rib = read(dump(name));
    expect(rib.format).toBe(format);
    expect(listed(rib)).toEqual([...routes].sort());
    expect(rib.skipped).toBe(0);
    const families = [...rib.families].sort();
    expect(families).toEqual(
      [...new Set(routes.map((one) => (one.includes('::') ? 'ipv6' : 'ipv4')))].sort(),
    );
  });

  test('FRR names the router and from whom it has each route', () => {
    const rib = read(dump('frr-ipv4'));
    expect(rib.addresses).toEqual(['10.4.94.250']);
    expect(rib.routes[0]).toMatchObject({ from: '10.4.94.32' });
  });

  test.each(['frr-empty', 'gobgp-empty', 'openbgpd-empty'])(
    '%s is a table without routes, of no family in particular',
    (name) => {
      const rib = read(dump(name));
      expect(rib.routes).toEqual([]);
      expect([...rib.families]).toEqual([]);
    },
  );
});

describe('odd ones', () => {
  test.each([
    'frr-ipv4',
    'frr-detail',
    'frr-vrf-all',
    'bird-all',
    'bird-short',
    'gobgp-ipv4',
    'openbgpd',
  ])(
    '%s, cut anywhere, is refused and not taken for a smaller table',
    { timeout: 60_000 },
    (name) => {
      const whole = dump(name);
      const all = listed(read(whole));
      let refused = 0;
      for (let at = 1; at < whole.trimEnd().length; at += 37) {
        const found = readRib(whole.slice(0, at));
        if (found.kind === 'refused') refused++;
        // Text that ends with a line looks like a smaller table; then nothing is made up.
        else for (const route of listed(found.rib)) expect(all).toContain(route);
      }
      expect(refused).toBeGreaterThan(whole.length / 37 / 2);
    },
  );

  test('JSON that is cut is said to be cut', () => {
    expect(refusal(dump('frr-ipv4').slice(0, 700))).toBe(
      'the JSON ends in the middle: the dump is cut short',
    );
  });

  test('text that is cut names the line', () => {
    expect(refusal(dump('bird-all').slice(0, 1000))).toContain('the dump is cut short');
  });

  test.each([
    ['', 'the file is empty: nothing was saved in it'],
    ['  \n\n', 'the file is empty: nothing was saved in it'],
    ['% BGP instance not found\n', 'it begins with "% BGP instance not found"'],
    ['Unable to connect to server control socket\n', 'is no dump of a known router'],
    ['[]', 'it is a JSON list'],
    ['{"items": []}', 'its keys are items'],
    ['{"kind":"List","apiVersion":"v1","items":[]}', 'its keys are kind, apiVersion, items'],
    [
      'BIRD 2.0.12 ready.\nsyntax error, unexpected CF_SYM_UNDEFINED\n',
      'line 2 is no route of BIRD',
    ],
  ])('%j is refused', (text, why) => {
    expect(refusal(text)).toContain(why);
  });

  test('BIRD 1 writes the next hop into the first line', () => {
    const rib = read(`BIRD 1.6.8 ready.
10.5.112.0/24      via 10.4.94.32 on eth0 [master1 2022-03-01 from 10.4.94.32] * (100) [AS64513i]
                   via 10.4.94.21 on eth0 [master2 2022-03-01] (100) [AS64513i]
10.4.94.0/24       dev eth0 [direct1 2022-03-01] * (240)
`);
    expect(listed(rib)).toEqual(['10.5.112.0/24 10.4.94.21 (spare)', '10.5.112.0/24 10.4.94.32']);
  });

  test('BIRD with several next hops in one route, reply codes, metrics and odd times', () => {
    const rib = read(`0001 BIRD 2.0.12 ready.
1007-Table master4:
1007-10.5.112.0/24        unicast [kernel1 2022-11-05 from 10.4.94.32] * (100/20) [AS64513i]
	via 10.4.94.32 on eth0 weight 1
	via 10.4.94.21 on eth1 weight 2
10.5.113.0/24        unreachable [master1 19:42:52.311 from 10.4.94.32] * (100/-) [AS64513i]
	Type: BGP univ
	BGP.next_hop: 10.4.94.32
10.5.114.0/24        blackhole [static1 19:42:52] * (200)
`);
    expect(listed(rib)).toEqual([
      '10.5.112.0/24 10.4.94.21',
      '10.5.112.0/24 10.4.94.32',
      // It holds the route, but its next hop does not resolve: nothing is forwarded.
      '10.5.113.0/24 10.4.94.32 (spare)',
    ]);
  });

  test('FRR with an IPv6 next hop of two addresses, one that is not accessible, and its own route', () => {
    const paths = (nexthops: object[], more: object = {}) => [
      { valid: true, bestpath: true, nexthops, ...more },
    ];
    const rib = read(
      JSON.stringify({
        vrfId: 0,
        routerId: '10.4.94.250',
        routes: {
          'fd00:5:112::/64': paths([
            { ip: 'fe80::1', scope: 'link-local', used: true },
            { ip: 'fd00:94::32', scope: 'global' },
          ]),
          'fd00:5:113::/64': paths([{ ip: 'fe80::2', scope: 'link-local' }], {
            peerId: '10.4.94.31',
          }),
          'fd00:5:114::/64': paths([{ ip: 'fd00:94::99', accessible: false }]),
          '10.0.0.0/8': { paths: paths([{ ip: '0.0.0.0' }]) },
        },
      }),
    );
    expect(rib.routes.map(({ prefix, nextHop, isUsed }) => [`${prefix}`, nextHop, isUsed])).toEqual(
      [
        ['fd00:5:112::/64', 'fd00:94::32', true],
        ['fd00:5:113::/64', 'fe80::2', true],
        ['fd00:5:114::/64', 'fd00:94::99', false],
        ['10.0.0.0/8', '', true],
      ],
    );
    expect(rib.routes[1]?.from).toBe('10.4.94.31');
  });

  test('what is no unicast route is passed over, and counted', () => {
    const path = { nlri: { type: 2 }, attrs: [], best: true };
    const rib = read(
      JSON.stringify({
        '[type:macadv][rd:1:1]': [path],
        '10.5.112.0/24': [
          {
            nlri: { prefix: '10.5.112.0/24' },
            best: true,
            attrs: [{ type: 3, nexthop: '10.4.94.32' }],
          },
        ],
      }),
    );
    expect(listed(rib)).toEqual(['10.5.112.0/24 10.4.94.32']);
    expect(rib.skipped).toBe(1);
  });

  test('add-path: several paths of one prefix from one peer', () => {
    const path = (nexthop: string, id: number, best: boolean) => ({
      nlri: { prefix: '10.5.112.0/24' },
      id,
      best,
      attrs: [{ type: 3, nexthop }],
    });
    const rib = read(
      JSON.stringify({
        '10.5.112.0/24': [path('10.4.94.32', 1, true), path('10.4.94.21', 2, false)],
      }),
    );
    expect(listed(rib)).toEqual(['10.5.112.0/24 10.4.94.21 (spare)', '10.5.112.0/24 10.4.94.32']);
  });
});

describe('a hundred thousand routes', () => {
  const prefixes = Array.from(
    { length: 100_000 },
    (_, at) => `10.${at >>> 12}.${(at >>> 4) & 255}.${(at & 15) << 4}/28`,
  );

  test.each([
    [
      'FRR',
      JSON.stringify({
        vrfId: 0,
        routerId: '1.1.1.1',
        routes: Object.fromEntries(
          prefixes.map((one) => [
            one,
            [{ valid: true, bestpath: true, nexthops: [{ ip: '10.4.94.32' }] }],
          ]),
        ),
      }),
    ],
    [
      'GoBGP',
      JSON.stringify(
        Object.fromEntries(
          prefixes.map((one) => [
            one,
            [{ nlri: { prefix: one }, best: true, attrs: [{ type: 3, nexthop: '10.4.94.32' }] }],
          ]),
        ),
      ),
    ],
    [
      'OpenBGPD',
      JSON.stringify({
        rib: prefixes.map((prefix) => ({
          prefix,
          exit_nexthop: '10.4.94.32',
          best: true,
          valid: true,
        })),
      }),
    ],
    [
      'BIRD',
      `BIRD 2.0.12 ready.\nTable master4:\n${prefixes.map((one) => `${one.padEnd(20)} unicast [m 19:44:01.321] * (100) [AS64513i]\n\tvia 10.4.94.32 on eth0\n`).join('')}`,
    ],
  ])('of %s are all read', { timeout: 60_000 }, (format, text) => {
    const rib = read(text);
    expect(rib.format).toBe(format);
    expect(rib.routes).toHaveLength(100_000);
    expect(rib.routes.every(({ isUsed, nextHop }) => isUsed && nextHop === '10.4.94.32')).toBe(
      true,
    );
  });
});
