/**
 * Our requests against those of iproute2 for the same wish, and our reading of
 * the kernel's answers, as bytes that were recorded on the wire (strace on
 * x86-64: little-endian).
 */
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Address, parseAddress } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { type RouteSpec, routeText, settleRoute } from '../route.ts';
import { addAddress, readAddress } from './address-messages.ts';
import { NetlinkReader } from './attributes.ts';
import { newTunnel, newVeth, readLink, setLink } from './link-messages.ts';
import {
  decodeMessages,
  encodeRequests,
  type NetlinkMessage,
  type Request,
  refusalOf,
} from './message.ts';
import { readNeighbour, setForwardingEntry, setNeighbour } from './neighbour-messages.ts';
import { addRoute, readRoute, removeRoute } from './route-messages.ts';

const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, 'testdata/iproute2.json'), 'utf8'),
) as {
  cadaIndex: number;
  cadxIndex: number;
  requests: Record<string, string>;
  answers: Record<string, string | string[]>;
};

const a = (text: string) => parseAddress(text) as Address;
const p = (text: string) => parsePrefix(text) as Prefix;
const cada = { name: 'cada', index: recorded.cadaIndex };
const cadx = { name: 'cadx', index: recorded.cadxIndex };
const indexes = new Map([cada, cadx].map(({ name, index }) => [name, index]));
const names = new Map([cada, cadx].map(({ name, index }) => [index, name]));
const route = (route: RouteSpec) => addRoute(settleRoute(route), 83, indexes);

/** How long the struct before the attributes is, by type of message. */
const structLength = (type: number) => [16, 8, 12, 12][Math.floor((type - 16) / 4)] as number;
/** Attributes that hold attributes, with the struct before them. */
const nested: Record<string, number> = {
  'link 18': 0,
  'link 18 2': 0,
  'link 18 2 1 veth': 16,
  'route 8': 0,
  'route 22': 0,
};

/** A message as a set of facts, whatever the order: `path = hex`. */
function facts({ type, body }: NetlinkMessage): string[] {
  const kind = type < 20 ? 'link' : type >= 24 && type < 28 ? 'route' : 'other';
  const isVeth = Buffer.from(body.bytes).includes('veth');
  const collect = (reader: NetlinkReader, at: number, path: string): string[] =>
    [...reader.attrs(at)].flatMap(([number, value]) => {
      const here = `${path} ${number}`;
      const inner = nested[here] ?? (isVeth ? nested[`${here} veth`] : undefined);
      if (inner !== undefined) return collect(value, inner, here);
      // iproute2 sends some texts without their end.
      return `${here} = ${hex(value.bytes).replace(/(00)+$/, '')}`;
    });
  const start = structLength(type);
  return [hex(body.bytes.subarray(0, start)), ...collect(body, start, kind)].sort();
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
const messageOf = (text: string) => decodeMessages(bytesOf(text))[0] as NetlinkMessage;

describe.skipIf(endianness() !== 'LE')('the bytes of iproute2', () => {
  // What we say beyond iproute2, because we mean it: the table and the metric in full.
  const wishes: [command: string, request: Request, more: string[], less: string[]][] = [
    [
      'link add cadv mtu 1400 address 02:00:00:00:00:aa type veth peer name far0 address 02:00:00:00:00:bb mtu 1400',
      newVeth(
        {
          name: 'cadv',
          peerName: 'far0',
          mtu: 1400,
          mac: '02:00:00:00:00:aa',
          peerMac: '02:00:00:00:00:bb',
        },
        undefined,
      ),
      [],
      [],
    ],
    [
      'link add cadx type vxlan id 83 dstport 8472 local 10.4.0.1 nolearning',
      newTunnel({ kind: 'vxlan', name: 'cadx', vni: 83, local: a('10.4.0.1') }),
      [],
      [],
    ],
    ['link set cada up mtu 1300', setLink(cada, { isUp: true, mtu: 1300 }), [], []],
    [
      'route add 10.5.2.0/24 via 10.4.0.2 dev cada onlink proto 83 metric 7',
      route({
        prefix: p('10.5.2.0/24'),
        via: a('10.4.0.2'),
        device: 'cada',
        isOnLink: true,
        metric: 7,
      }),
      ['route 15 = fe'],
      [],
    ],
    [
      'route add blackhole fd05::/64 proto 83',
      route({ prefix: p('fd05::/64'), type: 'blackhole' }),
      ['route 15 = fe', 'route 6 = 0004'],
      [],
    ],
    [
      'route add 10.5.3.0/24 via 10.4.0.2 dev cada encap ip id 83 dst 10.4.0.2 proto 83 mtu 1300',
      route({
        prefix: p('10.5.3.0/24'),
        via: a('10.4.0.2'),
        device: 'cada',
        tunnel: { vni: 83, remote: a('10.4.0.2') },
        mtu: 1300,
      }),
      ['route 15 = fe'],
      [],
    ],
    [
      'route add 10.5.4.0/24 via inet6 fe80::2 dev cada proto 83 table 1083 src 10.4.0.1',
      route({
        prefix: p('10.5.4.0/24'),
        via: a('fe80::2'),
        device: 'cada',
        table: 1083,
        source: a('10.4.0.1'),
      }),
      [],
      [],
    ],
    [
      'route del 10.5.2.0/24 via 10.4.0.2 dev cada onlink proto 83 metric 7',
      removeRoute(
        settleRoute({
          prefix: p('10.5.2.0/24'),
          via: a('10.4.0.2'),
          device: 'cada',
          isOnLink: true,
          metric: 7,
        }),
        83,
        indexes,
      ),
      // The type, too: another program's blackhole of the same place is not ours to remove.
      ['route 15 = fe', '02180000fe53ff0104000000'],
      ['02180000fe53ff0004000000'],
    ],
    [
      'neigh replace 10.4.0.2 lladdr 02:00:00:00:00:01 dev cada nud permanent',
      setNeighbour(cada, { address: a('10.4.0.2'), mac: '02:00:00:00:00:01' }),
      [],
      [],
    ],
    [
      'addr add fd05::7/128 dev cada nodad',
      addAddress(cada, { address: a('fd05::7'), length: 128 }),
      [],
      [],
    ],
    [
      'fdb append 02:00:00:00:00:05 dev cadx dst 10.4.0.2',
      setForwardingEntry(cadx, { mac: '02:00:00:00:00:05', remote: a('10.4.0.2') }),
      [],
      [],
    ],
  ];

  test.each(wishes)('ip %s', (command, request, more, less) => {
    const theirs = messageOf(recorded.requests[command] as string);
    const ours = decodeMessages(encodeRequests([request], 7))[0] as NetlinkMessage;
    // RTM_SETLINK (19) is RTM_NEWLINK (16) without the right to create.
    expect(ours.type === 19 ? 16 : ours.type).toBe(theirs.type);
    expect(facts(ours)).toEqual(
      [...facts(theirs).filter((fact) => !less.includes(fact)), ...more].sort(),
    );
  });

  test('answers: interfaces', () => {
    expect(readLink(messageOf(recorded.answers['link show cadx'] as string))).toMatchObject({
      name: 'cadx',
      kind: 'vxlan',
      isUp: false,
      tunnel: { vni: 83, port: 8472, isExternal: false, local: a('10.4.0.1') },
    });
    expect(readLink(messageOf(recorded.answers['link show cadb'] as string))).toMatchObject({
      name: 'cadb',
      kind: 'veth',
      mtu: 1500,
      isUp: true,
      hasCarrier: true,
    });
  });

  test('answers: routes', () => {
    const read = (command: string) =>
      (recorded.answers[command] as string[]).map((bytes) => {
        const found = readRoute(messageOf(bytes), names);
        if (!found) return undefined;
        const count = found.nextHopCount === undefined ? '' : ` hops ${found.nextHopCount}`;
        return `${routeText(found)} proto ${found.protocol}${count}`;
      });
    expect(read('route show')).toMatchInlineSnapshot(`
      [
        "10.4.0.0/24 dev cada src 10.4.0.1 metric 0 proto 2",
        "10.5.2.0/24 via 10.4.0.2 dev cada onlink metric 7 proto 83",
        "10.5.3.0/24 encap id 83 dst 10.4.0.2 via 10.4.0.2 dev cada mtu 1300 metric 0 proto 83",
        "10.5.9.0/24 via 10.4.0.2 dev cada metric 0 proto 3 hops 2",
      ]
    `);
    expect(read('route show inet6')).toMatchInlineSnapshot(`
      [
        "fd05::7/128 dev cada metric 256 proto 2",
        "blackhole fd05::/64 metric 1024 proto 83",
        "fe80::/64 dev if2 metric 256 proto 2",
        "fe80::/64 dev cada metric 256 proto 2",
      ]
    `);
  });

  test('answers: neighbours and addresses', () => {
    const neighbours = (recorded.answers['neigh show'] as string[]).map((bytes) =>
      readNeighbour(messageOf(bytes), cada),
    );
    expect(neighbours).toContainEqual({ address: a('10.4.0.2'), mac: '02:00:00:00:00:01' });
    const addresses = (recorded.answers['addr show'] as string[]).map((bytes) => {
      const { address, length } = readAddress(messageOf(bytes)) ?? {};
      return `${address}/${length}`;
    });
    expect(addresses).toEqual(expect.arrayContaining(['10.4.0.1/24', 'fd05::7/128']));
  });

  test("answers: a refusal, with the kernel's own words", () => {
    expect(refusalOf(messageOf(recorded.answers.refusal as string))).toEqual({
      errno: 101,
      detail: 'Nexthop has invalid gateway',
    });
  });

  test('answers cut off anywhere are read as far as they go, or refused as RangeError', () => {
    const answers = Object.values(recorded.answers).flat();
    for (const answer of answers) {
      const { body, ...rest } = messageOf(answer);
      for (let length = 0; length < body.bytes.length; length++) {
        const message = { ...rest, body: new NetlinkReader(body.bytes.subarray(0, length)) };
        for (const read of [
          readLink,
          readAddress,
          (m: NetlinkMessage) => readRoute(m, names),
          refusalOf,
        ]) {
          try {
            read(message);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        }
      }
    }
  });
});
