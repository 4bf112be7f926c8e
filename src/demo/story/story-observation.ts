/** A site as the lab's expectations are judged by. Pure. */
import type { Observation } from '../../lab/replay/observation.ts';
import type { Ping, SiteReading } from './site-reading.ts';

/** Pings of this step, by pod: through whichever router. */
export interface PingTotals {
  sent: number;
  lost: number;
}

export function observationOf(
  reading: SiteReading,
  pings: readonly Ping[],
  totals: ReadonlyMap<string, PingTotals>,
): Observation {
  const { incident, routers, blocks } = reading;
  const { nodes, outside, subnets } = incident.topology;
  const addressOf = new Map(nodes.map(({ name, addresses }) => [name, addresses.ipv4 ?? '']));
  const gateway = subnets.find(({ name }) => name === outside.subnet)?.gateways.ipv4 ?? '';
  const pods = [...new Set(pings.map(({ pod }) => pod))];
  return {
    routers: Object.fromEntries(
      routers.map(({ name, held }) => [
        name,
        held.map(({ prefix, nextHop }) => ({ prefix, nextHop })),
      ]),
    ),
    blocks: blocks.map(({ prefix, nodeName, phase }) => ({
      cidr: prefix.toString(),
      node: nodeName,
      phase,
    })),
    pods: pods.map((name) => {
      const sent = pings.filter(({ pod }) => pod === name);
      const lost = sent.filter(({ way }) => way === 'lost').length;
      const [first] = sent;
      return {
        name,
        node: first?.node ?? '',
        address: first?.address ?? '',
        isAnswering: lost === 0,
        isSilent: lost === sent.length,
        pings: { sent: 0, lost: 0, ...totals.get(name), longestSeconds: 0 },
      };
    }),
    nodeOf: Object.fromEntries([...addressOf].map(([name, address]) => [address, name])),
    traces: Object.fromEntries(
      pings
        // The outside's packets go to the router that has its gateway's address.
        .filter(({ router, way }) => router === routers[0]?.name && way !== 'lost')
        .map(({ pod, hops }) => [
          `outside to ${pod}`,
          [gateway, ...hops.slice(1).map((hop) => addressOf.get(hop) ?? hop), pod],
        ]),
    ),
    routeEvents: [],
    leader: '',
    figures: {},
    notes: {},
  };
}
