import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  encodeInitiation,
  encodePeerUp,
  encodeRouteMonitoring,
} from '../../test/parts/bmp-encode.ts';
import { Metrics } from '../base/metrics.ts';
import type { PeerHeader } from '../bgp/bmp/peer-header.ts';
import { Speaker } from '../bgp/speaker/speaker.ts';
import {
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeOpen,
  ipv4Unicast,
  Nlri,
} from '../bgp/wire/message.ts';
import { parsePrefix } from '../net/prefix.ts';
import { Witness } from './witness.ts';

const peer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: '10.4.94.32',
  asn: 64513,
  routerId: '10.4.94.32',
  view: 'adj-rib-in-post-policy',
  as2: false,
  timestampMs: 0,
};

/** Everything that a router with one route would say. */
function wholeTable(sysName: string): Buffer {
  const open = (asn: number) =>
    encodeOpen({ version: 4, asn, holdSeconds: 90, routerId: '10.0.0.1', capabilities: [] });
  const route = {
    prefixes: [Nlri.parse('10.5.112.0/24')!],
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

let nowMs: number;
let metrics: Metrics;
let lines: string[];
let changes: number;
let witness: Witness;
let sockets: Socket[];

beforeEach(() => {
  nowMs = 1_000;
  metrics = new Metrics();
  lines = [];
  changes = 0;
  sockets = [];
  const note = (fields: object, text: string) => {
    lines.push(`${text} ${'family' in fields ? fields.family : ''}`.trim());
  };
  const log = { trace: note, debug: note, info: note, warn: note, error: note };
  witness = new Witness({ now: () => nowMs, log, metrics });
  witness.onChange(() => {
    changes++;
  });
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await witness.close();
});

async function reportsAs(sysName: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: witness.listeners[0]!.port });
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(wholeTable(sysName));
  return socket;
}

/** A busy machine is slow, not wrong. */
const soon = <T>(read: () => T) => expect.poll(read);

const listenForBmp = () => witness.listen([{ protocol: 'bmp', host: '127.0.0.1', port: 0 }]);
const states = () =>
  witness
    .seen()
    .map(({ table, source }) => [table.router, source.state, [...table.families].join()]);
const metric = (name: string) =>
  metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(name));

describe('over BMP', () => {
  beforeEach(listenForBmp);

  test('before anybody came nothing is known, and that is said', () => {
    nowMs += 3_000;
    expect(witness.routers).toEqual([]);
    expect(states()).toEqual([['listener bmp', 'partly', '']]);
    expect(witness.seen()[0]?.source.note).toMatch(/^no router connected to BMP on .* within 3 s$/);
    expect(metric('cadastre_witness_complete')).toEqual([]);
  });

  test('a router comes, goes and comes back', async () => {
    const socket = await reportsAs('tor1');
    await soon(states).toEqual([['tor1', 'seen', 'ipv4']]);
    expect(witness.routers).toMatchObject([
      { name: 'tor1', by: 'bmp', completeSinceMs: { ipv4: 1_000 } },
    ]);
    expect(lines).toContain('the whole table of the router is received ipv4');
    expect(metric('cadastre_witness_')).toEqual([
      'cadastre_witness_age_seconds{router="tor1"} 0',
      'cadastre_witness_complete{family="ipv4",router="tor1"} 1',
      ...['complete"} 1', 'partly"} 0', 'gone"} 0'].map(
        (state) => `cadastre_witness_routers{state="${state}`,
      ),
    ]);
    const before = changes;
    expect(before).toBeGreaterThan(0);
    socket.destroy();
    await soon(states).toEqual([['tor1', 'partly', '']]);
    nowMs += 4_000;
    expect(witness.seen()[0]).toMatchObject({
      table: { routes: [] },
      source: { ageSeconds: 4, note: 'its connection has ended: what it holds is not known' },
    });
    expect([witness.routers, changes > before]).toEqual([[], true]);
    expect(metric('cadastre_witness_complete')).toEqual([
      'cadastre_witness_complete{family="ipv4",router="tor1"} 0',
    ]);
    await reportsAs('tor1');
    await soon(states).toEqual([['tor1', 'seen', 'ipv4']]);
    expect(witness.routers[0]?.completeSinceMs).toEqual({ ipv4: 5_000 });
  });

  test('a process that was frozen does not know what it has not read yet', async () => {
    await reportsAs('tor1');
    await soon(states).toEqual([['tor1', 'seen', 'ipv4']]);
    nowMs += 4_000;
    expect(witness.routers[0]?.completeSinceMs).toEqual({ ipv4: 1_000 });
    nowMs += 60_000;
    expect(witness.routers[0]?.completeSinceMs).toEqual({});
    nowMs += 1;
    expect(witness.routers[0]?.completeSinceMs).toEqual({ ipv4: 65_001 });
  });

  test('one that never sends everything is said, once', async () => {
    const socket = connect({ host: '127.0.0.1', port: witness.listeners[0]!.port });
    sockets.push(socket);
    await soon(() => states()[0]?.[0]).toBe('127.0.0.1');
    for (let second = 0; second < 90; second++) {
      nowMs += 1_000;
      witness.seen();
    }
    expect(lines.filter((line) => line.startsWith('connected, but'))).toHaveLength(1);
    expect(metric('cadastre_witness_routers{state="partly"}')[0]).toMatch(/ 1$/);
  });

  test('a table that is too large is not compared, and still answers for a block', async () => {
    await witness.close();
    witness = new Witness({ now: () => nowMs, mostRoutes: 0 });
    await listenForBmp();
    await reportsAs('tor1');
    await soon(() => witness.seen()[0]?.source.note).toBe(
      'more than the 0 routes that are compared: let it report fewer',
    );
    expect(states()).toEqual([['tor1', 'partly', '']]);
    const [heard] = witness.routers;
    expect(heard?.completeSinceMs).toEqual({ ipv4: 1_000 });
    expect(heard?.lastRouteMs(parsePrefix('10.5.112.0/24')!)).toBe(Number.POSITIVE_INFINITY);
  });

  test('two of one name are told apart', async () => {
    await Promise.all([reportsAs('tor'), reportsAs('tor')]);
    await soon(() => states().map(([name]) => name)).toEqual(['tor', 'tor#2']);
  });

  test('a port that is taken is a refusal that names the flag', async () => {
    const { port } = witness.listeners[0]!;
    const second = new Witness({ now: () => nowMs });
    const at = { host: '127.0.0.1', port };
    const asns = { localAsn: 64524, peerAsn: 64524 };
    for (const plan of [
      { protocol: 'bmp', ...at } as const,
      { protocol: 'bgp', ...at, ...asns } as const,
    ]) {
      await expect(second.listen([plan])).rejects.toThrow(
        `--witness 127.0.0.1:${port}: the port is in use by another process`,
      );
    }
  });
});

test('over BGP, a router that advertises nothing is not one that holds nothing', async () => {
  const asns = { localAsn: 64524, peerAsn: 64524 };
  await witness.listen([{ protocol: 'bgp', host: '127.0.0.1', port: 0, ...asns }]);
  const router = new Speaker({ listen: false });
  const { port } = witness.listeners[0]!;
  router.setPeers([
    {
      ...{ name: 'witness', address: '127.0.0.1', port, asn: 64524, localAsn: 64524 },
      ...{ routerId: '10.0.0.2', localAddress: '127.0.0.5', families: ['ipv4'] },
    },
  ]);
  try {
    router.set([]);
    await soon(() => witness.seen()[0]?.source.note).toMatch(/^it advertises no route to us/);
    expect(states()).toEqual([['127.0.0.5', 'partly', '']]);
    router.set([{ prefix: '10.5.112.0/24', nextHop: '10.4.94.32' }]);
    await soon(states).toEqual([['127.0.0.5', 'seen', 'ipv4']]);
    const held = () => witness.routers[0]?.lastRouteMs(parsePrefix('10.5.112.0/24')!);
    expect(held()).toBe(Number.POSITIVE_INFINITY);
    nowMs = 3_000;
    router.set([]);
    await soon(held).toBe(3_000);
    expect(witness.routers).toMatchObject([{ by: 'bgp', completeSinceMs: { ipv4: 1_000 } }]);
    expect(states()).toEqual([['127.0.0.5', 'seen', 'ipv4']]);
  } finally {
    await router.close('drain');
  }
  await soon(states).toEqual([['127.0.0.5', 'partly', '']]);
  expect(witness.routers).toEqual([]);
});
