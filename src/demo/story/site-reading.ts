/** What the parts of a site hold at one moment, and what follows from it for pings. Pure. */
import type { RouterView } from '../../console/router-view.ts';
import type { StoryNodeRow, StoryPingRow, StorySiteRow } from '../../console/story-row.ts';
import type { KernelRoute } from '../../kernel/route.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { parseAddress } from '../../net/address.ts';
import { familyBits } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import {
  type Forwarder,
  Forwarding,
  type ForwardingRoute,
  type ForwardTo,
  isDetour,
} from '../../plan/ways/packet-way.ts';
import type { IncidentSite } from './incident-site.ts';
import { podNameOf } from './one-pod-each.ts';

/** Left as it was, right with Cadastre. */
export type Side = StorySiteRow['id'];

export interface SiteReading {
  side: Side;
  incident: IncidentSite;
  nodes: readonly ClusterNode[];
  blocks: readonly Block[];
  routers: readonly RouterView[];
  kernels: ReadonlyMap<string, readonly KernelRoute[]>;
}

/** A ping that was sent to a pod through a router, and where it got to. */
export type Ping = Omit<StoryPingRow, 'sent' | 'lost'>;

/** One to each pod through each router, on the tables as they are. */
export function pingsOf(reading: SiteReading): Ping[] {
  const { incident, routers, kernels } = reading;
  const forwarding = new Forwarding([
    ...routers.map(routerForwarder),
    ...incident.site.nodes.flatMap(({ name, addresses }): Forwarder[] => {
      const routes = kernels.get(name);
      if (routes === undefined) return [];
      return [
        {
          kind: 'node',
          name,
          addresses: Object.values(addresses),
          routes: routes.map((route) => kernelRoute(name, route)),
        },
      ];
    }),
  ]);
  const pings: Ping[] = [];
  for (const { node, address } of podsOf(reading)) {
    const to = parseAddress(address);
    if (to === undefined) continue;
    for (const router of routers) {
      const way = forwarding.way(router.name, to);
      if (way === undefined) continue;
      const pod = podNameOf(node);
      const isThere = way.end === 'delivered' && way.pod === pod;
      pings.push({
        pod,
        node,
        address,
        router: router.name,
        hops: way.hops.map(({ name }) => name),
        way: !isThere ? 'lost' : isDetour(way) ? 'detour' : 'straight',
        why: way.why,
      });
    }
  }
  return pings;
}

/** The pods that there are, as the kernels have them. */
function podsOf({ kernels }: SiteReading): Array<{ node: string; address: string }> {
  return [...kernels].flatMap(([node, routes]) =>
    routes
      .filter(isPodRoute)
      .map(({ prefix }) => ({ node, address: prefix.first().toString() }))
      .slice(0, 1),
  );
}

function isPodRoute({ prefix, device, via, type }: KernelRoute): boolean {
  const isHost = prefix.length === familyBits(prefix.family);
  return isHost && device !== undefined && via === undefined && type === 'unicast';
}

function kernelRoute(node: string, route: KernelRoute): ForwardingRoute {
  const { prefix, via, type } = route;
  const to: ForwardTo = isPodRoute(route)
    ? { kind: 'here', pod: podNameOf(node) }
    : type === 'unicast' && via !== undefined
      ? { kind: 'next-hop', address: via.toString() }
      : { kind: 'drop' };
  return { prefix, to };
}

function routerForwarder({ name, addresses, held }: RouterView): Forwarder {
  return {
    kind: 'router',
    name,
    addresses,
    routes: held.flatMap(({ prefix, nextHop }): ForwardingRoute[] => {
      const parsed = parsePrefix(prefix);
      return parsed === undefined
        ? []
        : [{ prefix: parsed, to: { kind: 'next-hop', address: nextHop } }];
    }),
  };
}

/** The parts of a site's row that are drawn. */
export function drawnSite(reading: SiteReading): Pick<StorySiteRow, 'nodes' | 'routers'> {
  const { incident, nodes, routers, blocks } = reading;
  const nodeOf = new Map(
    incident.site.nodes.flatMap(({ name, addresses }) =>
      Object.values(addresses).map((address) => [address, name] as const),
    ),
  );
  const ownerOf = new Map(blocks.map(({ prefix, nodeName }) => [prefix.toString(), nodeName]));
  return {
    nodes: incident.topology.nodes.map(({ name, addresses, ciliumPodCidr }) => {
      const node = nodes.find((one) => one.name === name);
      return {
        name,
        address: addresses.ipv4 ?? '',
        block: ciliumPodCidr ?? '',
        spec: node?.podCidrs[0] ?? '',
        state: nodes.length === 0 ? 'unknown' : stateOf(node),
      };
    }),
    routers: routers.map(({ name, addresses, asn, sessions, held }) => ({
      name,
      address: addresses[0] ?? '',
      asn,
      sessions: sessions.filter(({ state }) => state === 'Established').map(({ node }) => node),
      routes: held.map(({ prefix, nextHop }) => ({
        prefix,
        nextHop,
        node: nodeOf.get(nextHop) ?? '',
        owner: ownerOf.get(prefix) ?? '',
      })),
    })),
  };
}

function stateOf(node: ClusterNode | undefined): StoryNodeRow['state'] {
  if (node === undefined) return 'gone';
  return node.isLeaving === true ? 'drained' : 'serving';
}
