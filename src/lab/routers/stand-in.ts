/**
 * A router made of our own parts: the collector receives from nodes and other
 * routers, the kernel forwards, and a speaker advertises the nodes' prefixes to
 * the other routers. No path selection: the first to announce a prefix wins,
 * a node before a router.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../base/log.ts';
import { Collector } from '../../bgp/collector.ts';
import type { Announcement } from '../../bgp/rib/announcement.ts';
import { Speaker } from '../../bgp/speaker/speaker.ts';
import { NetlinkKernel } from '../../kernel/netlink-kernel.ts';
import type { RouteSpec } from '../../kernel/route.ts';
import { whenAborted } from '../../kube/on-abort.ts';
import type { PeerSettings } from '../../model/peer-settings.ts';
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { ownRouteProtocol, type StandInConfig } from './own.ts';
import { holdSeconds, type Neighbour } from './router.ts';

export async function runStandIn(folder: string, log: Log, signal: AbortSignal): Promise<void> {
  const config = JSON.parse(readFileSync(join(folder, 'router.json'), 'utf8')) as StandInConfig;
  const { address, asn, neighbours, families } = config;
  const kernel = new NetlinkKernel({});
  const settings = ({ name, address: remote, asn: theirs }: Neighbour): PeerSettings => ({
    name,
    address: remote,
    asn: theirs,
    localAsn: asn,
    localAddress: address,
    routerId: address,
    families,
    holdSeconds,
    connectRetrySeconds: 1,
    gracefulRestartSeconds: 120,
    maxIdleSeconds: 2,
  });
  const routers = neighbours.filter(({ kind }) => kind === 'router');
  const collector = new Collector({
    listen: { address, port: 179 },
    onChange: () => void settle(),
    onDown: () => void settle(),
    world: { log },
  });
  const speaker = new Speaker({ listen: false, world: { log } });

  let isSettling = false;
  let isStale = false;
  async function settle(): Promise<void> {
    isStale = true;
    if (isSettling) return;
    isSettling = true;
    while (isStale) {
      isStale = false;
      const { routes, announcements } = chosen();
      const outcome = await kernel.setRoutes(routes, ownRouteProtocol);
      for (const { route, detail } of outcome.refused) {
        log.warn({ prefix: String(route.prefix) }, `the kernel refused a route: ${detail}`);
      }
      speaker.set(announcements);
    }
    isSettling = false;
  }

  function chosen(): { routes: RouteSpec[]; announcements: Announcement[] } {
    const routes = new Map<string, RouteSpec>();
    const announcements: Announcement[] = config.subnets.map((prefix) => ({ prefix }));
    // Nodes come first in the list, so a node's route wins over a router's.
    for (const { name, kind } of neighbours) {
      for (const { prefix: nlri, nextHops } of collector.routesOf(name)) {
        const key = String(nlri);
        const [via, prefix] = [parseAddress(nextHops[0] ?? ''), parsePrefix(key)];
        if (via === undefined || prefix === undefined) continue;
        if (routes.has(key) || config.subnets.includes(key)) continue;
        const isOnLink = kind === 'router' ? { isOnLink: true, device: 'core' } : {};
        routes.set(key, { prefix, via, ...isOnLink });
        if (kind === 'node' && prefix.family === 'ipv4') announcements.push({ prefix: key });
      }
    }
    return { routes: [...routes.values()], announcements };
  }

  await collector.listen();
  collector.setPeers(neighbours.map((one) => ({ ...settings(one), isPassive: true })));
  speaker.setPeers(routers.map(settings));
  await settle();
  writeFileSync(join(folder, 'ready'), '');
  log.info({ address, count: neighbours.length }, 'the router is listening');
  await whenAborted(signal);
  await speaker.close('restart');
  await collector.close();
  await kernel.setRoutes([], ownRouteProtocol);
  kernel.close();
  rmSync(join(folder, 'ready'), { force: true });
}
