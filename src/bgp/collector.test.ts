/** A router that is nothing but a socket: what it writes, octet by octet, the collector must bear. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { collectorAddress, speakerAddress, until } from '../../test/parts/bgp-pair.ts';
import { Collector } from './collector.ts';
import { messageType, writeHeader } from './wire/header.ts';
import { encodeKeepalive, encodeOpen } from './wire/message.ts';

let collector: Collector;
let router: Socket;
const ended: string[] = [];

afterEach(async () => {
  router.destroy();
  await collector.close();
  ended.length = 0;
});

async function begin(): Promise<void> {
  collector = new Collector({
    listen: { address: collectorAddress, port: 0 },
    onDown: (_peer, end) => ended.push(end.detail),
  });
  await collector.listen();
  const settings = { name: 'router', address: speakerAddress, asn: 65001, localAsn: 64513 };
  collector.setPeers([{ ...settings, routerId: '10.0.0.1', isPassive: true }]);
  router = connect({
    host: collectorAddress,
    port: collector.port!,
    localAddress: speakerAddress,
  });
  router.on('error', () => undefined);
  router.resume();
  const capabilities = [
    { name: 'as4', asn: 65001 } as const,
    ...[1, 2].map((afi) => ({ name: 'multiprotocol', afi, safi: 1 }) as const),
  ];
  const open = { version: 4, asn: 65001, holdSeconds: 90, routerId: '10.0.0.2', capabilities };
  router.write(Buffer.concat([encodeOpen(open), encodeKeepalive()]));
  await until('it is up', () => collector.peers()[0]?.state === 'Established');
}

function update(attributes: string, nlri = ''): Uint8Array {
  const sized = Buffer.from(attributes, 'hex');
  const bytes = new Uint8Array(
    Buffer.concat([
      Buffer.alloc(21),
      Buffer.from([sized.length >>> 8, sized.length & 0xff]),
      sized,
      Buffer.from(nlri, 'hex'),
    ]),
  );
  writeHeader(bytes, messageType.update);
  return bytes;
}

const held = () => collector.routesOf('router').map(({ prefix }) => `${prefix}`);
const holds = (...prefixes: string[]) =>
  until(`the table is ${prefixes}`, () => held().sort().join() === [...prefixes].sort().join());

const path = '4001010040020602010000fde9';
const nextHop = (octets: string) => `400304${octets}`;
const reach = (site: string) =>
  `800e1c0002011020010db80000000000000000000000010030${`20010db8${site}`}`;
const unreach = (site: string) => `800f0a00020130${`20010db8${site}`}`;

test('NEXT_HOP 0.0.0.0 without IPv4 routes costs neither the IPv6 routes nor the session', async () => {
  await begin();
  router.write(update(`${path}${nextHop('0a000002')}`, '180a0570'));
  router.write(update(`${reach('0001')}${path}${nextHop('00000000')}`));
  router.write(update(`${reach('0002')}${path}${nextHop('00000000')}`));
  await holds('10.5.112.0/24', '2001:db8:1::/48', '2001:db8:2::/48');
  router.write(update(`${unreach('0001')}${path}${nextHop('00000000')}`));
  await holds('10.5.112.0/24', '2001:db8:2::/48');
  expect(collector.peers()[0]).toMatchObject({
    state: 'Established',
    counters: { established: 1 },
  });
  expect(ended).toEqual([]);
});

test.each(['00000000', '7f000001', 'e0000001', 'ffffffff'])(
  'an IPv4 route with NEXT_HOP %s is withdrawn, and the session lives',
  async (octets) => {
    await begin();
    router.write(update(`${path}${nextHop('0a000002')}`, '180a0570180a0571'));
    await holds('10.5.112.0/24', '10.5.113.0/24');
    router.write(update(`${path}${nextHop(octets)}`, '180a0570'));
    await holds('10.5.113.0/24');
    expect(collector.peers()[0]?.state).toBe('Established');
    expect(ended).toEqual([]);
  },
);
