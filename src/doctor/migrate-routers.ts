import { BmpStation } from '../bgp/bmp/bmp-station.ts';
import type { RouterWatch } from './migrate-look.ts';

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
  const unseen: RouterWatch = (cidrs, nextHops) =>
    cidrs.filter((cidr) => {
      const { routers } = station;
      return routers.length === 0 || !routers.every((router) => holds(router, cidr, nextHops));
    });
  return { unseen, port: station.port, close: () => station.close() };
}

type Router = BmpStation['routers'][number];

function holds(router: Router, cidr: string, nextHops: readonly string[]): boolean {
  return router.peers.some((peer) =>
    peer.views.some((view) => {
      const rib = peer.rib(view);
      if (rib === undefined || view.startsWith('adj-rib-out')) return false;
      let isHeld = false;
      rib.forEach(({ prefix, nextHops: hops }) => {
        if (prefix.toString() === cidr && hops.some((hop) => nextHops.includes(hop))) isHeld = true;
      });
      return isHeld;
    }),
  );
}
