import { CadastreError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { BmpStation } from '../bgp/bmp/bmp-station.ts';
import type { MonitoredRouter } from '../bgp/bmp/monitored-router.ts';
import { Collector } from '../bgp/collector.ts';
import { BgpRouter } from './bgp-router.ts';
import { BmpRouter } from './bmp-router.ts';
import type { ConnectedRouter } from './connected-router.ts';

/** Where routers are listened to. */
export interface ListenPlan {
  protocol: 'bmp' | 'bgp';
  host: string;
  port: number;
  /** BGP: our AS, and the router's. */
  localAsn?: number;
  peerAsn?: number;
}

export interface ListenerEvents {
  now(): number;
  log: Log;
  onConnect(router: ConnectedRouter): void;
  /** It holds something else now, or has other sessions. */
  onChange(): void;
  onEnd(router: ConnectedRouter): void;
}

export interface Listener {
  /** `BMP on 0.0.0.0:11019` */
  what: string;
  kind: 'bmp' | 'bgp';
  port: number;
  close(): Promise<void>;
}

/** `flag` is what its address was given by, for the refusal. */
export function openListener(
  plan: ListenPlan,
  events: ListenerEvents,
  flag: string,
): Promise<Listener> {
  return plan.protocol === 'bmp'
    ? openStation(plan, events, flag)
    : openCollector(plan, events, flag);
}

async function openStation(
  { host, port }: ListenPlan,
  { now, log, onConnect, onChange, onEnd }: ListenerEvents,
  flag: string,
): Promise<Listener> {
  const routers = new Map<MonitoredRouter, { router: BmpRouter; news: number }>();
  const station = new BmpStation({
    log,
    onConnect: (monitored) => {
      const router = new BmpRouter(monitored, now);
      routers.set(monitored, { router, news: 0 });
      onConnect(router);
    },
    onMessage: (monitored) => {
      const known = routers.get(monitored);
      // Statistics change nothing that anybody compares.
      const news = monitored.messages - monitored.statistics;
      if (known === undefined || known.news === news) return;
      known.news = news;
      onChange();
    },
    onClose: (monitored) => {
      const known = routers.get(monitored);
      routers.delete(monitored);
      if (known !== undefined) onEnd(known.router);
    },
  });
  await opened(`${flag} ${host}:${port}`, () => station.listen({ host, port }));
  const at = station.port ?? port;
  return { what: `BMP on ${host}:${at}`, kind: 'bmp', port: at, close: () => station.close() };
}

/** A router that is gone without a word is noticed after so long. */
const holdSeconds = 30;

async function openCollector(
  { host, port, localAsn = 0, peerAsn = 0 }: ListenPlan,
  { now, log, onConnect, onChange, onEnd }: ListenerEvents,
  flag: string,
): Promise<Listener> {
  const routers = new Map<string, BgpRouter>();
  const collector: Collector = new Collector({
    listen: { address: host, port },
    dynamicNeighbor: (address) => ({
      address,
      asn: peerAsn,
      localAsn,
      // Ours alone in the session; the router compares it with its own.
      routerId: '192.0.2.1',
      isPassive: true,
      holdSeconds,
      families: ['ipv4', 'ipv6'],
    }),
    world: { log },
    onUp: (peer) => {
      const router = new BgpRouter(peer, peerAsn, collector, now);
      routers.set(peer, router);
      onConnect(router);
    },
    onChange: (peer, change) => {
      routers.get(peer)?.changed(change);
      onChange();
    },
    onGone: (peer, prefix) => routers.get(peer)?.gone(prefix),
    onDown: (peer) => {
      const router = routers.get(peer);
      routers.delete(peer);
      if (router !== undefined) onEnd(router);
    },
  });
  await opened(`${flag} ${host}:${port}`, () => collector.listen());
  const at = collector.port ?? port;
  return {
    what: `BGP on ${host}:${at} as AS ${localAsn}, from AS ${peerAsn}`,
    kind: 'bgp',
    port: at,
    close: () => collector.close(),
  };
}

async function opened(where: string, listen: () => Promise<void>): Promise<void> {
  try {
    await listen();
  } catch (error) {
    const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'the port is in use by another process'
        : String((error as Error).message);
    throw new CadastreError('BAD_FLAG', `${where}: ${why}`, { cause: error });
  }
}
