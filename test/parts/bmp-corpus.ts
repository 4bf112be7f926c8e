import type { PeerHeader } from '../../src/bgp/bmp/peer-header.ts';
import { defaultContext, encodeAnnounce, encodeOpen, Nlri } from '../../src/bgp/wire/message.ts';
import {
  encodeInitiation,
  encodePeerDown,
  encodePeerUp,
  encodeRouteMonitoring,
  encodeStatistics,
} from './bmp-encode.ts';

export const bmpPeer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: '10.4.94.32',
  asn: 64513,
  routerId: '10.4.94.32',
  view: 'adj-rib-in-pre-policy',
  as2: false,
  timestampMs: 0,
};
const open = encodeOpen({
  version: 4,
  asn: 64513,
  holdSeconds: 90,
  routerId: '10.0.0.1',
  capabilities: [],
});
const group = {
  prefixes: [Nlri.parse('10.5.112.0/24')!],
  attributes: { origin: 'igp' as const, asPath: [] },
  nextHops: ['10.0.0.1'],
};
/** A message of every kind, in the order in which a router sends them. */
export const bmpCorpus: readonly Uint8Array[] = [
  encodeInitiation('a', 'b'),
  encodePeerUp(bmpPeer, {
    localAddress: '10.0.0.1',
    localPort: 1,
    remotePort: 2,
    sentOpen: open,
    receivedOpen: open,
  }),
  encodeRouteMonitoring(bmpPeer, encodeAnnounce(group, defaultContext)[0]!),
  encodeStatistics(bmpPeer, new Map([[1, 2n]])),
  encodePeerDown(bmpPeer, 1),
];
