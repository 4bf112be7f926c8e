import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readRib } from './read-rib.ts';
import type { RibDump } from './rib-dump.ts';

const folder = new URL('../../../test/doctor/fixtures/', import.meta.url);
const vendors = /^(?:eos|ios|nxos|xr|junos|vrp|comware|frr-text|frr-route)/;
const names = readdirSync(new URL('ribs/', folder))
  .filter((name) => vendors.test(name))
  .map((name) => name.replace(/\.dump$/, ''));
const dump = (name: string) => readFileSync(new URL(`ribs/${name}.dump`, folder), 'utf8');

function read(text: string): RibDump {
  const found = readRib(text);
  if (found.kind !== 'rib') throw new Error(found.problem);
  return found.rib;
}

const listed = ({ routes }: RibDump) =>
  routes.map(({ prefix, nextHop, isUsed, protocol, asPath }) =>
    [
      `${prefix} via ${nextHop || 'itself'}`,
      ...(isUsed ? [] : ['(spare)']),
      ...(protocol === undefined ? [] : [protocol]),
      ...(asPath === undefined ? [] : [`[${asPath}]`]),
    ].join(' '),
  );

/** Each dump and how it reads, to be compared by eye: `vendor-ribs.txt`. */
const readings = new Map(
  readFileSync(new URL('vendor-ribs.txt', folder), 'utf8')
    .trimEnd()
    .split('\n\n')
    .map((block) => {
      const [head = '', ...routes] = block.split('\n');
      const [name = '', software = ''] = head.split(': ');
      return [name, { software, routes }];
    }),
);

test('every dump of a vendor has its reading, and every reading its dump', () => {
  expect([...readings.keys()].sort()).toEqual([...names].sort());
});

describe.each(names)('%s', (name) => {
  const text = dump(name);

  test('reads as it was meant', () => {
    const rib = read(text);
    const { software, routes } = readings.get(name) ?? { software: '', routes: [] };
    expect(rib.format).toBe(software);
    expect(listed(rib)).toEqual(routes);
    expect(rib.partial).toBeUndefined();
    expect(rib.skipped).toBe(0);
  });

  test('reads the same with CRLF, a banner and a byte order mark', () => {
    const whole = listed(read(text));
    expect(listed(read(text.replaceAll('\n', '\r\n')))).toEqual(whole);
    expect(listed(read(`\uFEFF${text}`))).toEqual(whole);
    const isText = !/^[{<]/.test(text.trim()) || /^<tor1>/.test(text.trim());
    if (isText)
      expect(listed(read(`Authorised use only. Last login: Tue Mar 1\n\n${text}`))).toEqual(whole);
  });

  test('cut anywhere, it is the same table, or refused, or said to be a part', () => {
    const all = listed(read(text));
    for (let at = 1; at < text.length; at++) {
      const found = readRib(text.slice(0, at));
      if (found.kind === 'refused' || found.rib.partial !== undefined) continue;
      const now = listed(found.rib);
      if (now.length === all.length) expect(now.map(bare)).toEqual(all.map(bare));
      // Only a table without any total and without a prompt ends like a smaller one.
      else {
        expect(unbounded).toContain(name);
        expect(text[at - 1]).toBe('\n');
        expect(all.slice(0, now.length).map(bare)).toEqual(now.map(bare));
      }
    }
  });

  test('a line that is no part of it is refused by its number, wherever it stands', () => {
    const lines = text.split('\n');
    const isTree = /^\s*[{<](?!tor1>)/.test(text) || name.endsWith('json');
    for (let at = 0; at < lines.length - 1; at++) {
      const odd = [...lines.slice(0, at), '  ??? 10.99.99.0/24 by nobody', ...lines.slice(at)].join(
        '\n',
      );
      const found = readRib(odd);
      // Tables of labels are not read at all.
      const isInOther = lines.slice(0, at).some((line) => line.startsWith('mpls.0'));
      if (found.kind === 'rib') expect(isInOther, `${name} line ${at + 1}`).toBe(true);
      else if (!isTree)
        expect(found.problem).toMatch(new RegExp(`line ${at + 1}\\b|line ${at}\\b|cut short`));
    }
  });
});

/** What a cut may leave out of the last line: protocol and path. */
const bare = (line: string) => line.replace(/( via \S+(?: \(spare\))?).*$/, '$1');

/** Saved without the router's prompt, and the router prints no total. */
const unbounded = [
  'eos-bgp-old',
  'eos-route-ipv6',
  'ios-bgp',
  'nxos-bgp-ipv6',
  'nxos-route-ipv6',
  'xr-route',
];

describe('what is refused by name', () => {
  const refusal = (text: string | Uint8Array) => {
    const found = readRib(text);
    return found.kind === 'refused' ? found.problem : `understood as ${found.rib.format}`;
  };

  test.each([
    ' --More-- ',
    '---(more 45%)---',
    '  ---- More ----',
    '<--- More --->',
    '---(more)---',
  ])('the pager %j: lines may be missing', (pager) => {
    const lines = dump('ios-bgp').split('\n');
    const text = [...lines.slice(0, 12), pager, ...lines.slice(12)].join('\n');
    expect(refusal(text)).toContain("line 13 is the pager's");
  });

  test('a pager that erased itself, on the line of a route', () => {
    const text = dump('ios-bgp').replace(
      '\n *m',
      '\n --More-- \b\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\b\b *m',
    );
    expect(refusal(text)).toContain("is the pager's");
  });

  test.each([
    ['BGP routing table entry for 10.5.112.0/24\n Paths: 1 available\n', 'the detailed form'],
    ['Routing entry for 10.5.112.0/24\n  Known via "bgp 64524"\n', 'the entry of one prefix'],
    ['BZh91AY&SY', 'which is no dump of a known router'],
    ['% BGP not active\n', 'it begins with "% BGP not active"'],
  ])('%j', (text, why) => {
    expect(refusal(text)).toContain(why);
  });

  test('a packed file that Node cannot unpack, with the command that can', () => {
    expect(refusal(new TextEncoder().encode('BZh91AY&SY'))).toBe(
      'it is packed with bzip2; unpack it first: bunzip2 FILE',
    );
  });

  test('a total at the end that says more than the lines do', () => {
    const text = dump('frr-text-bgp').replace(/^ \*> {2}10\.5\.112.*\n.*\n/m, '');
    expect(refusal(text)).toBe('it says 3 prefixes at its end and lists 2: lines are missing');
  });

  test('a table of EVPN in the place of one of prefixes', () => {
    const text = dump('nxos-bgp').replace(
      'address family IPv4 Unicast',
      'address family L2VPN EVPN',
    );
    expect(refusal(text)).toContain('the table of L2VPN EVPN');
  });
});

describe('VRFs', () => {
  test('the default one counts, and the others are named', () => {
    const rib = read(dump('nxos-bgp'));
    expect(rib.otherVrfs).toEqual(['RED']);
    expect(listed(rib)).not.toContain('10.66.1.0/24 via 10.66.0.9 bgp [65010]');
  });

  test('another one is read by its name', () => {
    const found = readRib(dump('nxos-bgp'), { vrf: 'RED' });
    expect(found.kind === 'rib' && listed(found.rib)).toEqual([
      '10.66.1.0/24 via 10.66.0.9 bgp [65010]',
    ]);
  });

  test('one that is not there is refused with those that are', () => {
    const found = readRib(dump('nxos-bgp'), { vrf: 'BLUE' });
    expect(found).toEqual({ kind: 'refused', problem: 'it holds no VRF BLUE, but default, RED' });
  });

  test('the only one in the file is read, whatever its name', () => {
    expect(read(dump('ios-route-vrf')).routes).toHaveLength(3);
  });

  test('several without a default one are refused', () => {
    const one = dump('ios-route-vrf');
    const found = readRib(one + one.replace('PODS', 'RED'));
    expect(found.kind === 'refused' && found.problem).toContain('the VRFs PODS, RED');
  });
});

test('several commands in one file are one dump', () => {
  const rib = read(`${dump('frr-text-bgp')}${dump('frr-text-route')}`);
  expect(rib.routes).toHaveLength(
    read(dump('frr-text-bgp')).routes.length + read(dump('frr-text-route')).routes.length,
  );
});

test('a part of a table is said to be one, by the count that the router gives', () => {
  const lines = dump('vrp-route-verbose').split('\n');
  const rib = read(`${lines.slice(0, 16).join('\n')}\n`);
  expect(rib.partial).toBe('it says 2 routes and lists 1');
});
