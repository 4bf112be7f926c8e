import { expect, test } from 'vitest';
import { readSessions } from './router.ts';

test('a session with both families is one session, with the prefixes of both', () => {
  const peer = (pfxRcd: number) => ({ remoteAs: 64513, state: 'Established', pfxRcd });
  const text = JSON.stringify({
    ipv4Unicast: { routerId: '10.4.94.1', peers: { '10.4.94.11': peer(1), '10.4.94.12': peer(2) } },
    ipv6Unicast: { routerId: '10.4.94.1', peers: { '10.4.94.11': peer(1) } },
  });
  expect(readSessions(text)).toEqual([
    { peer: '10.4.94.11', asn: 64513, state: 'Established', prefixes: 2 },
    { peer: '10.4.94.12', asn: 64513, state: 'Established', prefixes: 2 },
  ]);
});

test('a router without a neighbour has no sessions', () => {
  expect(readSessions('{\n}\n')).toEqual([]);
});
