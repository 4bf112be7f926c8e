/**
 * One table, printed in the shape of each router, reads back the same. The printers are the
 * shapes once more, from the other side: column widths, marks, lines that are broken.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { formatWords } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { readRib } from './read-rib.ts';

interface Path {
  hop: string;
  asPath: number[];
}
interface Entry {
  prefix: string;
  /** The first one is the best. */
  paths: Path[];
}

const word = fc.nat({ max: 0xffffffff });
const ipv4 = fc.tuple(fc.integer({ min: 1, max: 223 }), fc.nat(0xffffff)).map(([first, rest]) => {
  const value = ((first === 127 ? 10 : first) << 24) | rest;
  return formatWords('ipv4', value, 0, 0, 0);
});
const ipv6 = fc
  .tuple(word, word, word)
  .map(([b, c, d]) => formatWords('ipv6', 0xfd000000 | (b >>> 8), b, c, d | 1));
const path = (family: 'ipv4' | 'ipv6') =>
  fc.record({
    hop: family === 'ipv4' ? ipv4 : ipv6,
    asPath: fc.array(fc.integer({ min: 1, max: 4_200_000_000 }), { maxLength: 4 }),
  });
const table = (family: 'ipv4' | 'ipv6') =>
  fc.uniqueArray(
    fc.record({
      prefix: fc
        .tuple(
          family === 'ipv4' ? ipv4 : ipv6,
          fc.integer({ min: 8, max: family === 'ipv4' ? 32 : 128 }),
        )
        .map(([address, length]) => String(parsePrefix(`${address}/${length}`))),
      paths: fc.uniqueArray(path(family), {
        minLength: 1,
        maxLength: 3,
        selector: ({ hop }) => hop,
      }),
    }),
    { minLength: 1, maxLength: 8, selector: ({ prefix }) => prefix },
  );

const right = (value: string | number, width: number) => String(value).padStart(width);
/** Long networks stand on a line of their own. */
const network = (prefix: string, width: number) =>
  prefix.length < width ? prefix.padEnd(width) : `${prefix}\n${' '.repeat(width)}`;

function bgpRows(
  entries: readonly Entry[],
  marks: (isBest: boolean) => string,
  width: number,
): string {
  const indent = marks(true).length;
  return entries
    .flatMap(({ prefix, paths }) =>
      paths.map(({ hop, asPath }, at) => {
        const name =
          at === 0
            ? network(prefix, width).replace('\n', `\n${' '.repeat(indent)}`)
            : ' '.repeat(width);
        const shown =
          hop.length < 20 ? hop.padEnd(20) : `${hop}\n${' '.repeat(indent + width + 20)}`;
        return `${marks(at === 0)}${name}${shown}${right(0, 6)}${right('', 7)}${right(0, 7)} ${[...asPath, 'i'].join(' ')}`;
      }),
    )
    .join('\n');
}

type Printer = (entries: readonly Entry[]) => string;

const bgpTables: Record<string, Printer> = {
  'Cisco IOS': (entries) => `BGP table version is 9, local router ID is 192.0.2.1
Status codes: s suppressed, d damped, h history, * valid, > best, i - internal,
Origin codes: i - IGP, e - EGP, ? - incomplete

     ${'Network'.padEnd(17)}${'Next Hop'.padEnd(20)}Metric LocPrf Weight Path
${bgpRows(entries, (isBest) => (isBest ? ' *>  ' : ' *   '), 17)}

Total number of prefixes ${entries.length}
`,
  'Cisco NX-OS': (
    entries,
  ) => `BGP routing table information for VRF default, address family IPv4 Unicast
BGP table version is 9, Local Router ID is 192.0.2.1
Status: s-suppressed, x-deleted, S-stale, d-dampened, h-history, *-valid, >-best
Path type: i-internal, e-external, c-confed, l-local, a-aggregate, r-redist, I-injected
Origin codes: i - IGP, e - EGP, ? - incomplete, | - multipath, & - backup

   ${'Network'.padEnd(19)}${'Next Hop'.padEnd(20)}Metric LocPrf Weight Path
${bgpRows(entries, (isBest) => (isBest ? '*>e' : '* e'), 19)}
`,
  'Cisco IOS-XR': (entries) => `BGP router identifier 192.0.2.1, local AS number 64524
BGP generic scan interval 60 secs
BGP main routing table version 9
Status codes: s suppressed, d damped, h history, * valid, > best
Origin codes: i - IGP, e - EGP, ? - incomplete
   ${'Network'.padEnd(19)}${'Next Hop'.padEnd(20)}Metric LocPrf Weight Path
${bgpRows(entries, (isBest) => (isBest ? '*> ' : '*  '), 19)}

Processed ${entries.length} prefixes, ${entries.flatMap(({ paths }) => paths).length} paths
`,
  FRR: (entries) => `BGP table version is 9, local router ID is 192.0.2.1, vrf id 0
Default local pref 100, local AS 64524
Status codes:  s suppressed, d damped, h history, * valid, > best, = multipath,
               i internal, r RIB-failure, S Stale, R Removed
Origin codes:  i - IGP, e - EGP, ? - incomplete

   ${'Network'.padEnd(17)}${'Next Hop'.padEnd(20)}Metric LocPrf Weight Path
${bgpRows(entries, (isBest) => (isBest ? '*> ' : '*  '), 17)}

Displayed  ${entries.length} routes and ${entries.flatMap(({ paths }) => paths).length} total paths
`,
  'Arista EOS': (entries) => `BGP routing table information for VRF default
Router identifier 192.0.2.1, local AS number 64524
Route status codes: s - suppressed, * - valid, > - active, E - ECMP head, e - ECMP
Origin codes: i - IGP, e - EGP, ? - incomplete

       Network             Next Hop         Metric  LocPref Weight Path
${entries.flatMap(({ prefix, paths }) => paths.map(({ hop, asPath }, at) => ` * ${at === 0 ? '>' : ' '}   ${prefix.padEnd(19)} ${hop.padEnd(16)} 0       100     0       ${[...asPath, 'i'].join(' ')}`)).join('\n')}
`,
  'Huawei VRP': (entries) => ` BGP Local router ID is 192.0.2.1
 Status codes: * - valid, > - best, d - damped, x - best external, a - add path,
               h - history,  i - internal, s - suppressed, S - Stale
               Origin : i - IGP, e - EGP, ? - incomplete

 Total Number of Routes: ${entries.flatMap(({ paths }) => paths).length}
${entries
  .flatMap(({ prefix, paths }) => {
    const [address, length] = prefix.split('/');
    return paths.map(
      ({ hop, asPath }, at) =>
        ` ${at === 0 ? `*>  Network  : ${address!.toUpperCase().padEnd(40)} PrefixLen : ${length}` : '*'}
     NextHop  : ${hop.toUpperCase().padEnd(40)} LocPrf    :
     MED      : 0                                        PrefVal   : 0
     Label    :
     Path/Ogn : ${[...asPath, 'i'].join(' ')}`,
    );
  })
  .join('\n')}
`,
};

describe.each(Object.entries(bgpTables))('the BGP table of %s', (name, print) => {
  test.each(['ipv4', 'ipv6'] as const)('of %s reads back', (family) => {
    fc.assert(
      fc.property(table(family), (entries) => {
        const found = readRib(print(entries));
        if (found.kind === 'refused') throw new Error(`${found.problem}\n${print(entries)}`);
        expect(found.rib.format).toBe(name);
        expect(found.rib.partial).toBeUndefined();
        const got = found.rib.routes.map(({ prefix, nextHop, isUsed, asPath }) => [
          `${prefix}`,
          nextHop,
          isUsed,
          asPath,
        ]);
        expect(got).toEqual(
          entries.flatMap(({ prefix, paths }) =>
            paths.map(({ hop, asPath }, at) => [prefix, hop, at === 0, asPath.join(' ')]),
          ),
        );
      }),
      { numRuns: runs(60) },
    );
  });
});

const hops = ({ paths }: Entry) => paths.map(({ hop }) => hop);
const pad = (text: string, width: number) => text.padEnd(width);

const routeTables: Record<string, Printer> = {
  'Cisco IOS': (entries) => `Codes: L - local, C - connected, S - static, B - BGP

Gateway of last resort is not set

${entries
  .map((entry) =>
    hops(entry)
      .map(
        (hop, at) =>
          `${at === 0 ? `B        ${entry.prefix}` : ' '.repeat(9 + entry.prefix.length)} [20/0] via ${hop}, 00:12:03`,
      )
      .join('\n'),
  )
  .join('\n')}
`,
  'Arista EOS': (entries) => `VRF: default
Codes: C - connected, S - static, B I - iBGP, B E - eBGP

${entries
  .map(
    (entry) =>
      ` B E      ${entry.prefix} [200/0]\n${hops(entry)
        .map((hop) => `           via ${hop}, Ethernet1`)
        .join('\n')}`,
  )
  .join('\n')}
`,
  FRR: (entries) => `Codes: K - kernel route, C - connected, B - BGP,
       > - selected route, * - FIB route, q - queued, r - rejected

${entries
  .map((entry) =>
    hops(entry)
      .map(
        (hop, at) =>
          `${at === 0 ? `B>* ${entry.prefix} [20/0]` : `  * ${' '.repeat(entry.prefix.length + 7)}`} via ${hop}, eth0, weight 1, 00:12:03`,
      )
      .join('\n'),
  )
  .join('\n')}
`,
  'Cisco NX-OS': (entries) => `IP Route Table for VRF "default"
'*' denotes best ucast next-hop

${entries
  .map(
    (entry) =>
      `${entry.prefix}, ubest/mbest: ${entry.paths.length}/0\n${hops(entry)
        .map((hop) => `    *via ${hop}, Eth1/1, [20/0], 00:12:03, bgp-64524, external, tag 64513`)
        .join('\n')}`,
  )
  .join('\n')}
`,
  Junos: (
    entries,
  ) => `inet.0: ${entries.length} destinations, ${entries.length} routes (${entries.length} active, 0 holddown, 0 hidden)
+ = Active Route, - = Last Active, * = Both

${entries
  .map(
    (entry) =>
      `${entry.prefix.length < 19 ? pad(entry.prefix, 19) : `${entry.prefix}\n${' '.repeat(19)}`}*[BGP/170] 00:12:03, localpref 100\n                      AS path: 64513 I\n${hops(
        entry,
      )
        .map((hop) => `                    > to ${hop} via ge-0/0/0.0`)
        .join('\n')}`,
  )
  .join('\n')}
`,
  'Huawei VRP': (entries) => `Route Flags: R - relay, D - download to fib
Routing Tables: Public
         Destinations : ${entries.length}        Routes : ${entries.flatMap(hops).length}

Destination/Mask    Proto   Pre  Cost      Flags NextHop         Interface

${entries
  .map((entry) =>
    hops(entry)
      .map(
        (hop, at) =>
          `${right(at === 0 ? entry.prefix : '', 18)}  EBGP    255  0          RD   ${pad(hop, 15)} Vlanif94`,
      )
      .join('\n'),
  )
  .join('\n')}
`,
  'H3C Comware': (
    entries,
  ) => `Destinations : ${entries.length}        Routes : ${entries.flatMap(hops).length}

Destination/Mask   Proto   Pre Cost        NextHop         Interface
${entries
  .map((entry) =>
    hops(entry)
      .map((hop, at) =>
        at === 0
          ? `${pad(entry.prefix, 18)} BGP     255 0           ${pad(hop, 15)} Vlan94`
          : `${' '.repeat(43)}${pad(hop, 15)} Vlan94`,
      )
      .join('\n'),
  )
  .join('\n')}
`,
};

describe.each(Object.entries(routeTables))('the routing table of %s', (name, print) => {
  const isOfBoth = !/VRP|Comware/.test(name);
  test.each(isOfBoth ? (['ipv4', 'ipv6'] as const) : (['ipv4'] as const))(
    'of %s reads back',
    (family) => {
      fc.assert(
        fc.property(table(family), (entries) => {
          const found = readRib(print(entries));
          if (found.kind === 'refused') throw new Error(`${found.problem}\n${print(entries)}`);
          expect(found.rib.format).toBe(name);
          const got = found.rib.routes.map(({ prefix, nextHop, isUsed }) => [
            `${prefix}`,
            nextHop,
            isUsed,
          ]);
          expect(got).toEqual(
            entries.flatMap((entry) => hops(entry).map((hop) => [entry.prefix, hop, true])),
          );
        }),
        { numRuns: runs(60) },
      );
    },
  );
});
