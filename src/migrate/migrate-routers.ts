import { BmpStation } from '../bgp/bmp/bmp-station.ts';
import type { MonitoredRouter } from '../bgp/bmp/monitored-router.ts';
import { parseAddress } from '../net/address.ts';
import type { RouterWatch } from './migration-view.ts';

/**
 * Routers that report over BMP: a route is seen when every router connected holds
 * it from one of the node's own addresses. Without a router nothing is seen.
 */
export async function watchRouters(listen: {
  host: string;
  port: number;
}): Promise<{ unseen: RouterWatch; port: number | undefined; close: () => Promise<void> }> {
  const station = new BmpStation();
  await station.listen(listen);
  const unseen: RouterWatch = (cidrs, nextHops) => {
    const { routers } = station;
    // People write addresses in many ways, routers in one.
    const hops = new Set(nextHops.map((text) => parseAddress(text)?.toString() ?? text));
    return cidrs.filter(
      (cidr) => routers.length === 0 || !routers.every((router) => holds(router, cidr, hops)),
    );
  };
  return { unseen, port: station.port, close: () => station.close() };
}

function holds(router: MonitoredRouter, cidr: string, nextHops: ReadonlySet<string>): boolean {
  // What a router heard and filtered away (pre-policy) is not what it holds.
  const view = router.nearestView(cidr.includes(':') ? 'ipv6' : 'ipv4');
  if (view === undefined) return false;
  return router.peers.some((peer) => {
    let isHeld = false;
    peer.rib(view)?.forEach(({ prefix, nextHops: hops }) => {
      if (prefix.toString() === cidr && hops.some((hop) => nextHops.has(hop))) isHeld = true;
    });
    return isHeld;
  });
}
