/** What a router with one route and one neighbor says over BMP. */
import type { PeerHeader } from '../../../src/bgp/bmp/peer-header.ts';
import {
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeOpen,
  ipv4Unicast,
  Nlri,
} from '../../../src/bgp/wire/message.ts';
import { encodeInitiation, encodePeerUp, encodeRouteMonitoring } from '../../parts/bmp-encode.ts';

const peer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: '10.4.94.11',
  asn: 64513,
  routerId: '10.4.94.11',
  view: 'adj-rib-in-post-policy',
  as2: false,
  timestampMs: 0,
};

export function wholeTable(sysName: string): Buffer {
  const open = (asn: number) =>
    encodeOpen({ version: 4, asn, holdSeconds: 90, routerId: '10.0.0.1', capabilities: [] });
  const route = {
    prefixes: [Nlri.parse('192.0.2.0/24')!],
    attributes: { origin: 'igp' as const, asPath: [] },
    nextHops: [peer.address],
  };
  return Buffer.concat([
    encodeInitiation(sysName, 'a router'),
    encodePeerUp(peer, {
      localAddress: '10.4.36.238',
      localPort: 179,
      remotePort: 40000,
      sentOpen: open(64524),
      receivedOpen: open(64513),
    }),
    encodeRouteMonitoring(peer, encodeAnnounce(route, { ...defaultContext, ibgp: true })[0]!),
    encodeRouteMonitoring(peer, encodeEndOfRib(ipv4Unicast)),
  ]);
}
