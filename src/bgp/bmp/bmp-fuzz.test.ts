import { expect, test } from 'vitest';
import {
  encodeInitiation,
  encodePeerDown,
  encodePeerUp,
  encodeRouteMonitoring,
  encodeStatistics,
} from '../../../test/parts/bmp-encode.ts';
import { Random } from '../../../test/soak/bgp-codec/mutator.ts';
import { defaultContext, encodeAnnounce, encodeOpen, Nlri } from '../wire/message.ts';
import { BmpFramer } from './bmp-framer.ts';
import { MonitoredRouter } from './monitored-router.ts';
import type { PeerHeader } from './peer-header.ts';

const peer: PeerHeader = {
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
const corpus = [
  encodeInitiation('a', 'b'),
  encodePeerUp(peer, {
    localAddress: '10.0.0.1',
    localPort: 1,
    remotePort: 2,
    sentOpen: open,
    receivedOpen: open,
  }),
  encodeRouteMonitoring(peer, encodeAnnounce(group, defaultContext)[0]!),
  encodeStatistics(peer, new Map([[1, 2n]])),
  encodePeerDown(peer, 1),
];

test('20,000 damaged BMP streams do no more than raise the count of faults', () => {
  const random = new Random(11);
  let faults = 0;
  let broken = 0;
  for (let n = 0; n < 20_000; n++) {
    const router = new MonitoredRouter('10.0.0.1', 1);
    const framer = new BmpFramer();
    const stream = Buffer.concat([corpus[1]!, random.pick(corpus), random.pick(corpus)]);
    for (let times = random.below(4); times >= 0; times--) {
      stream[random.below(stream.length)] = random.below(256);
    }
    const cut = random.below(stream.length);
    for (const chunk of [stream.subarray(0, cut), stream.subarray(cut)]) {
      framer.push(chunk);
      for (let next = framer.next(); next !== undefined; next = framer.next()) {
        if (typeof next === 'string') {
          broken++;
          break;
        }
        router.take(next);
      }
    }
    faults += router.faults;
  }
  // Both kinds must occur, or nothing was tried.
  expect(faults).toBeGreaterThan(500);
  expect(broken).toBeGreaterThan(500);
}, 60_000);
