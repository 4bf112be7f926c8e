import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import {
  encodeInitiation,
  encodePeerUp,
  encodeRouteMonitoring,
} from '../../test/parts/bmp-encode.ts';
import type { PeerHeader } from '../bgp/bmp/peer-header.ts';
import { defaultContext, encodeAnnounce, encodeOpen, Nlri } from '../bgp/wire/message.ts';
import { watchRouters } from './migrate-routers.ts';

const node = '10.4.94.32';
const peer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: node,
  asn: 64513,
  routerId: node,
  view: 'adj-rib-in-pre-policy',
  as2: false,
  timestampMs: 1_700_000_000_123,
};

async function router(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  const open = (asn: number) =>
    encodeOpen({ version: 4, asn, holdSeconds: 90, routerId: '10.0.0.1', capabilities: [] });
  socket.write(encodeInitiation(`tor-${socket.localPort}`, 'test'));
  socket.write(
    encodePeerUp(peer, {
      localAddress: '10.4.36.238',
      localPort: 179,
      remotePort: 40000,
      sentOpen: open(64524),
      receivedOpen: open(64513),
    }),
  );
  return socket;
}

function announcing(text: string, nextHop: string, view = peer.view): Uint8Array {
  const attributes = { origin: 'igp' as const, asPath: [], localPref: 100 };
  const group = { prefixes: [Nlri.parse(text, 0)!], attributes, nextHops: [nextHop] };
  return encodeRouteMonitoring(
    { ...peer, view },
    encodeAnnounce(group, { ...defaultContext, ibgp: true })[0]!,
  );
}

test('a route is seen when every router that reports holds it from the node itself', async () => {
  const { unseen, port, close } = await watchRouters({ host: '127.0.0.1', port: 0 });
  const cidr = '10.5.113.0/24';
  const left = () => unseen([cidr], [node]);
  const until = (wanted: string[]) => expect.poll(left, { interval: 20 }).toEqual(wanted);
  const sockets: Socket[] = [];
  try {
    // No router has said anything: that is no proof.
    expect(left()).toEqual([cidr]);
    const first = await router(port!);
    sockets.push(first);
    first.write(announcing(cidr, '10.4.94.99'));
    first.write(announcing('10.5.99.0/24', node));
    await expect.poll(() => unseen(['10.5.99.0/24'], [node])).toEqual([]);
    expect(left()).toEqual([cidr]);
    first.write(announcing(cidr, node));
    await until([]);
    const second = await router(port!);
    sockets.push(second);
    await until([cidr]);
    second.write(announcing(cidr, node));
    await until([]);
  } finally {
    for (const socket of sockets) socket.destroy();
    await close();
  }
}, 60_000);

test('what a router heard and filtered away is not seen; addresses may be written in any way', async () => {
  const { unseen, port, close } = await watchRouters({ host: '127.0.0.1', port: 0 });
  const socket = await router(port!);
  const [passed, filtered] = ['10.5.113.0/24', '10.5.114.0/24'];
  try {
    socket.write(announcing(filtered, node));
    // Before it has shown what passed its policy, what it heard has to do.
    await expect.poll(() => unseen([filtered], [node])).toEqual([]);
    socket.write(announcing(passed, node));
    socket.write(announcing(passed, node, 'adj-rib-in-post-policy'));
    await expect.poll(() => unseen([passed, filtered], [node])).toEqual([filtered]);
    expect(unseen([passed], ['::ffff:10.4.94.32', '10.4.94.32'])).toEqual([]);
  } finally {
    socket.destroy();
    await close();
  }
}, 60_000);
