/**
 * Routers that connect to us while we look. BMP (RFC 7854) shows what each of a
 * router's peers has advertised to it; a BGP session shows what the router itself
 * advertises to a neighbor, which is its best paths. Either is over when every router
 * that connected has sent End-of-RIB, or when the time is up.
 *
 * What was not complete when the time was over is a source of state `partly`:
 * a route that is missing there means nothing.
 */

import { plural } from '../base/count-text.ts';
import { CadastreError } from '../base/errors.ts';
import { BmpStation } from '../bgp/bmp/bmp-station.ts';
import type { MonitoredRouter } from '../bgp/bmp/monitored-router.ts';
import { Collector } from '../bgp/collector.ts';
import { isUnicast } from '../bgp/wire/afi-safi.ts';
import type { AfiSafi, Nlri } from '../bgp/wire/message.ts';
import { type Family, families } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import type { RouterRoute, RouterTable } from '../plan/doctor/evidence.ts';
import type { Source } from '../plan/doctor/finding.ts';

export interface ListenPlan {
  protocol: 'bmp' | 'bgp';
  host: string;
  port: number;
  /** BGP: our AS, and the router's. */
  localAsn?: number;
  peerAsn?: number;
}

export interface ListenOptions {
  plans: readonly ListenPlan[];
  /** How long at most. */
  seconds: number;
  /** Enough when so many routers are complete; undefined: wait the whole time. */
  routers?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Progress, for people. */
  say(line: string): void;
  now(): number;
  pause(ms: number): Promise<void>;
}

export interface ReceivedTable {
  table: RouterTable;
  source: Source;
}

export async function listenToRouters(options: ListenOptions): Promise<ReceivedTable[]> {
  const listeners = await Promise.all(options.plans.map(openListener));
  try {
    for (const { what } of listeners) options.say(`listening for ${what}`);
    const end = options.now() + options.seconds * 1000;
    let lastLine = '';
    for (;;) {
      const received = listeners.flatMap((listener) => listener.received());
      const complete = received.filter(({ source }) => source.state === 'seen').length;
      const line = received.map(({ source }) => `${source.name}: ${source.holds}`).join('; ');
      if (line !== lastLine && line !== '') options.say(line);
      lastLine = line;
      const isEnough = options.routers !== undefined && complete >= options.routers;
      if (isEnough || options.now() >= end || options.signal?.aborted === true) {
        return received.length > 0
          ? received
          : listeners.map(({ what, kind }) => nobody(what, kind, options.seconds));
      }
      await options.pause(Math.min(100, Math.max(1, end - options.now())));
    }
  } finally {
    await Promise.all(listeners.map((listener) => listener.close()));
  }
}

interface OpenListener {
  what: string;
  kind: 'bmp' | 'bgp';
  received(): ReceivedTable[];
  close(): Promise<void>;
}

function openListener(plan: ListenPlan): Promise<OpenListener> {
  return plan.protocol === 'bmp' ? openStation(plan) : openCollector(plan);
}

async function openStation({ host, port }: ListenPlan): Promise<OpenListener> {
  const station = new BmpStation();
  await opened(`${host}:${port}`, () => station.listen({ host, port }));
  return {
    what: `BMP on ${host}:${station.port}`,
    kind: 'bmp',
    received: () => named(station.routers.map(bmpTable)),
    close: () => station.close(),
  };
}

/** Towards an eBGP neighbour a router names itself as next hop (RFC 4271 §5.1.3). */
const selfNote =
  'every next hop is the router itself (eBGP), so where it sends packets is not visible: peer with it by iBGP';

async function openCollector({
  host,
  port,
  localAsn = 0,
  peerAsn = 0,
}: ListenPlan): Promise<OpenListener> {
  const complete = new Map<string, Set<Family>>();
  const collector = new Collector({
    listen: { address: host, port },
    dynamicNeighbor: (address) => ({
      address,
      asn: peerAsn,
      localAsn,
      // Ours alone in the session; the router compares it with its own.
      routerId: '192.0.2.1',
      isPassive: true,
      holdSeconds: 90,
      families: ['ipv4', 'ipv6'],
    }),
    onChange: (peer, { endOfRib }) => {
      const family = endOfRib && familyOf(endOfRib);
      if (family === undefined) return;
      const known = complete.get(peer) ?? new Set<Family>();
      complete.set(peer, known.add(family));
    },
    onDown: (peer) => complete.delete(peer),
  });
  await opened(`${host}:${port}`, () => collector.listen());
  return {
    what: `BGP on ${host}:${collector.port} as AS ${localAsn}, from AS ${peerAsn}`,
    kind: 'bgp',
    received: () =>
      collector
        .peers()
        .filter(({ state }) => state === 'Established')
        .map((peer) => {
          const routes = collector.routesOf(peer.name).map(({ prefix, nextHops }) => ({
            prefix: prefixOf(prefix),
            nextHop: nextHops[0] ?? '',
            isUsed: true,
          }));
          const families = complete.get(peer.name) ?? new Set<Family>();
          const received = receivedTable('bgp', peer.name, routes, families, [peer.name]);
          return routes.length > 0 && routes.every(({ nextHop }) => nextHop === peer.name)
            ? { ...received, source: { ...received.source, state: 'partly', note: selfNote } }
            : received;
        }),
    close: () => collector.close(),
  };
}

async function opened(where: string, listen: () => Promise<void>): Promise<void> {
  try {
    await listen();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'the port is in use by another process'
        : String((error as Error).message);
    throw new CadastreError('BAD_FLAG', `--listen ${where}: ${why}`, { cause: error });
  }
}

function bmpTable(router: MonitoredRouter): ReceivedTable {
  const view = router.nearestView;
  const routes: RouterRoute[] = [];
  const complete = new Set<Family>();
  const unfinished = new Set<Family>();
  for (const peer of router.peers) {
    if (view === undefined) break;
    const own = new Set(peer.completeFamilies(view).map(familyOf));
    for (const family of families) {
      const count = peer.rib(view)?.sizeOf({ afi: family === 'ipv4' ? 1 : 2, safi: 1 }) ?? 0;
      if (own.has(family)) complete.add(family);
      else if (count > 0) unfinished.add(family);
    }
    peer.rib(view)?.forEach(({ prefix, nextHops }) => {
      const nextHop = nextHops[0] ?? '';
      const isOwn = nextHop === '0.0.0.0' || nextHop === '::';
      routes.push({
        prefix: prefixOf(prefix),
        nextHop: isOwn ? '' : nextHop,
        isUsed: true,
        from: peer.address,
      });
    });
  }
  for (const family of unfinished) complete.delete(family);
  const received = receivedTable('bmp', router.sysName || router.remoteAddress, routes, complete, [
    router.remoteAddress,
  ]);
  const seesChoice = view === 'loc-rib' || view === undefined;
  const notes = [
    received.source.note,
    seesChoice ? undefined : `what its peers advertised to it (${view}), not which path it chose`,
    router.faults > 0
      ? `${router.faults} messages could not be read: ${router.lastFault}`
      : undefined,
  ].filter((one) => one !== undefined);
  return {
    ...received,
    source: { ...received.source, ...(notes.length > 0 ? { note: notes.join('; ') } : {}) },
  };
}

function receivedTable(
  kind: 'bmp' | 'bgp',
  name: string,
  routes: RouterRoute[],
  complete: ReadonlySet<Family>,
  addresses: string[],
): ReceivedTable {
  const isSeen = complete.size > 0;
  return {
    table: { router: name, families: complete, routes, addresses },
    source: {
      name,
      kind,
      state: isSeen ? 'seen' : 'partly',
      ageSeconds: 0,
      holds: `${kind.toUpperCase()}: ${plural(routes.length, 'route')}${complete.size === 1 ? ` (${[...complete].join()} only)` : ''}`,
      ...(isSeen ? {} : { note: 'no End-of-RIB yet: missing routes may still arrive' }),
    },
  };
}

/** Two connections of one name get a number each. */
function named(received: ReceivedTable[]): ReceivedTable[] {
  const seen = new Map<string, number>();
  return received.map((one) => {
    const times = (seen.get(one.table.router) ?? 0) + 1;
    seen.set(one.table.router, times);
    if (times === 1) return one;
    const name = `${one.table.router}#${times}`;
    return { table: { ...one.table, router: name }, source: { ...one.source, name } };
  });
}

function nobody(what: string, kind: 'bmp' | 'bgp', seconds: number): ReceivedTable {
  const name = `listener ${kind}`;
  return {
    table: { router: name, families: new Set(), routes: [], addresses: [] },
    source: {
      name,
      kind,
      state: 'partly',
      ageSeconds: null,
      holds: 'nothing',
      note: `no router connected to ${what} within ${seconds} s`,
    },
  };
}

function familyOf({ afi, safi }: AfiSafi): Family | undefined {
  if (!isUnicast(afi, safi)) return undefined;
  return afi === 1 ? 'ipv4' : 'ipv6';
}

function prefixOf({ afi, length, w0, w1, w2, w3 }: Nlri): Prefix {
  return new Prefix(afi === 1 ? 'ipv4' : 'ipv6', length, w0, w1, w2, w3);
}
