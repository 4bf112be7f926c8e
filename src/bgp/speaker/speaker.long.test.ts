import { afterEach, describe, expect, test } from 'vitest';
import { collectorAddress, Pair, type PairOptions, until } from '../../../test/parts/bgp-pair.ts';
import { silentLog } from '../../base/log.ts';
import { nativeSockets } from '../transport/native-sockets.ts';
import { Speaker } from './speaker.ts';

let pair: Pair;
afterEach(() => pair?.close());

async function begin(options: PairOptions = {}): Promise<Pair> {
  pair = await Pair.start(options);
  return pair;
}
const holds = (...routes: string[]) =>
  until(`the collector holds ${routes}`, () => pair.held().join() === [...routes].sort().join());
const a = { prefix: '10.0.0.0/24' };
const b = { prefix: '10.0.1.0/24' };
const aHeld = '10.0.0.0/24 via 10.4.94.32';
const bHeld = '10.0.1.0/24 via 10.4.94.32';

describe('a speaker', () => {
  test('does not connect before it knows what to advertise', async () => {
    await begin();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(pair.router()?.state).toBe('Idle');
    pair.speaker.set([]);
    await until('it is up', () => pair.router()?.state === 'Established');
  });

  test('advertises what is declared, in both families, and withdraws it', async () => {
    await begin();
    pair.speaker.set([a, { prefix: 'fd00::/64' }]);
    await holds(aHeld, 'fd00::/64 via 2001:db8::1');
    expect(pair.speaker.announcedTo('router')).toMatchObject([
      { prefix: '10.0.0.0/24', nextHop: '10.4.94.32', attributes: { origin: 'igp' } },
      { prefix: 'fd00::/64', nextHop: '2001:db8::1' },
    ]);
    pair.speaker.set([b]);
    await holds(bHeld);
    pair.speaker.set([]);
    await holds();
    expect(pair.router()).toMatchObject({ state: 'Established', announced: 0, isInSync: true });
  });

  test('keeps the session when new settings do not need another one', async () => {
    await begin();
    pair.speaker.set([a]);
    await holds(aHeld);
    pair.speaker.setPeers([
      pair.collectorSettings({ gracefulShutdown: true, nextHop: { ipv4: '10.4.94.9' } }),
    ]);
    await holds('10.0.0.0/24 via 10.4.94.9');
    const [route] = pair.collector.routesOf('node');
    expect(route?.attributes.communities).toEqual([0xffff0000]);
    expect(pair.router()?.counters?.established).toBe(1);
  });

  test('the same settings again put nothing in doubt, and nothing on the wire', async () => {
    await begin();
    pair.speaker.set([a]);
    await holds(aHeld);
    await until('everything is advertised', () => pair.router()?.isInSync === true);
    const sent = () => ({ ...pair.router()?.counters?.sent });
    const before = sent();
    // Asked in the same breath: an agent that declares everything anew must not wait for itself.
    pair.speaker.setPeers([pair.collectorSettings({})]);
    expect(pair.router()).toMatchObject({ state: 'Established', isInSync: true });
    pair.speaker.setPeers([pair.collectorSettings({ gracefulShutdown: true })]);
    expect(pair.router()?.isInSync).toBe(false);
    await until(
      'everything is advertised with the other settings',
      () => pair.router()?.isInSync === true,
    );
    expect(sent().updates).toBe((before.updates ?? 0) + 1);
  });

  test('begins a new session where they do, and ends one that is no longer declared', async () => {
    await begin();
    pair.speaker.set([a]);
    await holds(aHeld);
    pair.speaker.setPeers([pair.collectorSettings({ families: ['ipv4'] })]);
    await until(
      'it is up again',
      () => pair.router()?.state === 'Established' && pair.router()?.families.join() === 'ipv4',
    );
    await holds(aHeld);
    pair.speaker.setPeers([]);
    await holds();
    expect(pair.collector.peers()[0]?.lastError).toContain('NOTIFICATION 6/3');
  });

  test('with graceful restart it ends the old session without a NOTIFICATION: that would take the routes', async () => {
    await begin({ both: { gracefulRestartSeconds: 60 } });
    pair.speaker.set([a]);
    await holds(aHeld);
    pair.speaker.setPeers([pair.collectorSettings({ families: ['ipv4'] })]);
    const neighbor = () => pair.collector.peers()[0];
    await until(
      'it is up again',
      () => neighbor()?.counters?.established === 2 && pair.router()?.isInSync === true,
    );
    expect(neighbor()?.lastError).not.toContain('NOTIFICATION');
    await holds(aHeld);
  });

  test('answers a route refresh', async () => {
    await begin();
    pair.speaker.set([a, b]);
    await holds(aHeld, bHeld);
    const before = pair.router()?.counters?.sent.updates ?? 0;
    expect(pair.collector.requestRefresh('node', 'ipv4')).toBe(true);
    await until('it is answered', () => (pair.router()?.counters?.sent.updates ?? 0) >= before + 3);
    await holds(aHeld, bHeld);
    expect(pair.collector.requestRefresh('nobody', 'ipv4')).toBe(false);
  });

  test('refuses one peer with the reason and serves the others', async () => {
    const reason = 'TCP-MD5 and TTL need the optional package koffi';
    await begin({ speaker: { native: { kind: 'missing', reason } } });
    const refused = pair.speaker.setPeers([
      pair.collectorSettings(),
      pair.collectorSettings({ name: 'secret', address: '127.0.0.3', password: 'x' }),
      pair.collectorSettings({ name: 'twin' }),
      pair.collectorSettings({ name: 'wrong', address: '127.0.0.4', asn: 0 }),
    ]);
    expect(refused.map((peer) => `${peer.name}: ${peer.reason}`)).toEqual([
      `secret: ${reason}`,
      'twin: peer router has the address 127.0.0.2 already',
      'wrong: asn is 0, not a whole number from 1 to 4294967295',
    ]);
    pair.speaker.set([a]);
    await holds(aHeld);
    expect(pair.speaker.peers().map((peer) => peer.state)).toEqual([
      'Established',
      'Refused',
      'Refused',
      'Refused',
    ]);
  });

  test('logs once that it refuses a peer, however often it is declared', () => {
    const said: unknown[] = [];
    const log = { ...silentLog, error: (fields: object) => said.push(fields) };
    const speaker = new Speaker({ listen: false, world: { log } });
    const settings = (asn: number) => ({
      name: 'wrong',
      address: '127.0.0.4',
      asn,
      localAsn: 64513,
      routerId: '10.0.0.1',
    });
    for (let round = 0; round < 3; round++) {
      expect(speaker.setPeers([settings(0)])).toHaveLength(1);
    }
    expect(said).toHaveLength(1);
    speaker.setPeers([settings(-1)]);
    expect(said).toHaveLength(2);
  });

  test('two speakers that dial each other at once end with one session', async () => {
    const one = new Speaker({ listen: { address: '127.0.0.1', port: 0 } });
    const two = new Speaker({ listen: { address: '127.0.0.2', port: 0 } });
    await Promise.all([one.listen(), two.listen()]);
    const timing = { connectRetrySeconds: 1, idleSeconds: 0.02, maxIdleSeconds: 0.1 };
    one.setPeers([
      {
        address: '127.0.0.2',
        port: two.port,
        localAddress: '127.0.0.1',
        asn: 2,
        localAsn: 1,
        routerId: '1.1.1.1',
        ...timing,
      },
    ]);
    two.setPeers([
      {
        address: '127.0.0.1',
        port: one.port,
        localAddress: '127.0.0.2',
        asn: 1,
        localAsn: 2,
        routerId: '2.2.2.2',
        ...timing,
      },
    ]);
    one.set([]);
    two.set([]);
    await until('both are up', () =>
      [one, two].every((speaker) => speaker.peers()[0]?.state === 'Established'),
    );
    await Promise.all([one.close('drain'), two.close('drain')]);
  });
});

describe('the two exits', () => {
  test('drain withdraws everything, waits until it was received, then sends Cease 6/2', async () => {
    const changes: string[] = [];
    await begin({
      collector: {
        listen: { address: collectorAddress, port: 0 },
        onChange: (_peer, { withdrawn }) => changes.push(`withdrawn ${withdrawn}`),
        onDown: (_peer, end) => changes.push(end.detail),
      },
    });
    pair.speaker.set([a, b]);
    await holds(aHeld, bHeld);
    changes.length = 0;
    await pair.speaker.close('drain', 'node1 is being replaced');
    expect(changes).toEqual([
      'withdrawn 2',
      'the peer sent NOTIFICATION 6/2: node1 is being replaced',
    ]);
  });

  test("the router's words come without the codes that a terminal obeys", async () => {
    const ends: string[] = [];
    await begin({
      collector: {
        listen: { address: collectorAddress, port: 0 },
        onDown: (_peer, end) => ends.push(end.detail),
      },
    });
    pair.speaker.set([a]);
    await holds(aHeld);
    await pair.speaker.close('drain', '\u001b[2Jbye\r\n\u009b1A\u202e');
    expect(ends).toEqual(['the peer sent NOTIFICATION 6/2: \\u001b[2Jbye\\r\\n\\u009b1A\\u202e']);
  });

  test('where NOTIFICATIONs are graceful, drain is a Hard Reset', async () => {
    await begin({ both: { gracefulRestartSeconds: 60, hasRestartNotification: true } });
    pair.speaker.set([a]);
    await holds(aHeld);
    await pair.speaker.close('drain');
    expect(pair.held()).toEqual([]);
    expect(pair.collector.peers()[0]).toMatchObject({ isRestarting: false });
    expect(pair.collector.peers()[0]?.lastError).toContain('6/9');
  });

  test('restart leaves the routes with who agreed to keep them, and only those repeated stay', async () => {
    await begin({ both: { gracefulRestartSeconds: 60 } });
    pair.speaker.set([a, b]);
    await holds(aHeld, bHeld);
    await pair.speaker.close('restart');
    await until('the collector noticed', () => pair.collector.peers()[0]?.isRestarting === true);
    expect(pair.held()).toEqual([aHeld, bHeld]);
    expect(pair.collector.routesOf('node').every((route) => route.stale)).toBe(true);
    pair.renewSpeaker({ evidence: () => ({ hasRestarted: true, forwarding: ['ipv4'] }) }).set([a]);
    await holds(aHeld);
    expect(pair.collector.routesOf('node')[0]?.stale).toBe(false);
  });

  test('a forwarding bit that is not set drops the routes at once, not at End-of-RIB', async () => {
    const changes: string[] = [];
    await begin({
      both: { gracefulRestartSeconds: 60, families: ['ipv4'] },
      collector: {
        listen: { address: collectorAddress, port: 0 },
        onUp: () => changes.push('up'),
        onChange: (_peer, { withdrawn, endOfRib }) =>
          changes.push(`${endOfRib === undefined ? 'before' : 'at'} end of rib: ${withdrawn}`),
      },
    });
    pair.speaker.set([a]);
    await holds(aHeld);
    await pair.speaker.close('restart');
    await until('the collector noticed', () => pair.collector.peers()[0]?.isRestarting === true);
    changes.length = 0;
    pair.renewSpeaker({ evidence: () => ({ hasRestarted: true, forwarding: [] }) }).set([]);
    await until('the table was repeated', () => changes.length === 3);
    expect(changes).toEqual(['before end of rib: 1', 'up', 'at end of rib: 0']);
  });

  test('restart time over, the routes go', async () => {
    await begin({ both: { gracefulRestartSeconds: 1 } });
    pair.speaker.set([a]);
    await holds(aHeld);
    await pair.speaker.close('restart');
    await until('the collector noticed', () => pair.collector.peers()[0]?.isRestarting === true);
    expect(pair.held()).toEqual([aHeld]);
    await holds();
  });

  test('without graceful restart the routes go with the session', async () => {
    await begin();
    pair.speaker.set([a]);
    await holds(aHeld);
    await pair.speaker.close('restart');
    await holds();
  });
});

describe.runIf(nativeSockets().kind === 'available')('sockets with options', () => {
  test('TCP-MD5: equal passwords meet, others do not', async () => {
    await begin({ both: { password: 'kadaster' } });
    pair.speaker.set([a]);
    await holds(aHeld);
    pair.speaker.setPeers([pair.collectorSettings({ password: 'cadastre' })]);
    await holds();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(pair.router()?.state).not.toBe('Established');
    // A key can change while the listener stays open.
    pair.collector.setPeers([pair.speakerSettings({ password: 'cadastre' })]);
    await holds(aHeld);
  });

  test('TTL security: the neighbour passes, who comes with a lower TTL does not', async () => {
    await begin({ both: { ttlSecurityHops: 1 } });
    pair.speaker.set([a]);
    await holds(aHeld);
    pair.speaker.setPeers([
      pair.collectorSettings({ ttlSecurityHops: undefined, multihopTtl: 64 }),
    ]);
    await holds();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(pair.router()?.state).not.toBe('Established');
  });
});
