import { plural } from '../../base/count-text.ts';
import type { Address } from '../../net/address.ts';
import type { RouteView } from '../doctor/route-view.ts';
import type { Survey, SurveyedNode } from '../doctor/survey.ts';
import { type Forwarder, Forwarding, type ForwardingRoute, type PacketWay } from './packet-way.ts';

/** The way of a packet that enters at one router. */
export interface RouterWay extends PacketWay {
  readonly router: string;
}

export interface WaysAnswer {
  readonly address: string;
  /** Whose block it is by the record that is the truth; empty: nobody's. */
  readonly owner: string;
  /** That block. */
  readonly block: string;
  /** One for each router that was seen; where none was, one for what the nodes announce. */
  readonly ways: readonly RouterWay[];
}

/**
 * The ways to an address, from each router, out of what was seen: the routers' tables,
 * and of each node what its agent reports. A report has the node's own blocks, and how
 * many routes the kernel holds. An agent wants one for each block of each node that it
 * reaches directly, to the owner (`desiredRoutes`): where there are as many as there are
 * blocks, the owner's is among them. Otherwise the report does not say, and neither do we.
 */
export function waysTo(survey: Survey, address: Address): WaysAnswer {
  const owners = survey.blocks.filter(({ prefix }) => prefix.contains(address));
  const block = owners.sort((a, b) => b.prefix.length - a.prefix.length)[0];
  const nodes = [...survey.nodes.values()].map((node) => forwarderOf(survey, node, block));
  const views = survey.views.filter((view) => view.families.has(address.family));
  const routers = views.map((view) => routerOf(survey, view));
  const forwarding = new Forwarding([...nodes, ...routers]);
  return {
    address: address.toString(),
    owner: block?.node ?? '',
    block: block?.key ?? '',
    ways: views.flatMap(({ name }) => {
      const way = forwarding.way(name, address);
      return way === undefined ? [] : [{ router: name, ...way }];
    }),
  };
}

function routerOf({ evidence, nextHops }: Survey, view: RouteView): Forwarder {
  const table = evidence.routers.find(({ router }) => router === view.name);
  const routes: ForwardingRoute[] = [];
  for (const { prefix, paths } of view.routes.values()) {
    const used = paths.find(({ isUsed }) => isUsed);
    if (used === undefined || used.hop.kind === 'own') continue;
    const { hop, nextHop } = used;
    // A link-local next hop is known by who advertised it.
    const address = hop.kind === 'node' ? nextHops.addressOf(hop.node) : nextHop;
    routes.push({ prefix, to: { kind: 'next-hop', address: address || nextHop } });
  }
  return { kind: 'router', name: view.name, addresses: table?.addresses ?? [], routes };
}

function forwarderOf(
  { evidence, nextHops, blocks: all }: Survey,
  { node, blocks, report }: SurveyedNode,
  wanted: { prefix: ForwardingRoute['prefix']; node: string } | undefined,
): Forwarder {
  const { name, addresses } = node;
  const kernel = report?.status?.kernel;
  const own = kernel === undefined ? blocks.map(({ key }) => key) : kernel.ownRoutes;
  const routes: ForwardingRoute[] = blocks
    .filter(({ key }) => own.includes(key))
    .map(({ prefix }) => ({ prefix, to: { kind: 'here' } }));
  const of = { kind: 'node' as const, name, addresses };
  if (evidence.kernel?.node === name) {
    for (const { prefix, via, isLocal } of evidence.kernel.routes) {
      if (!isLocal && via !== undefined) {
        routes.push({ prefix, to: { kind: 'next-hop', address: via } });
      }
    }
    return { ...of, routes };
  }
  const unknown = `what the kernel of ${name} does with it was not reported`;
  if (wanted === undefined || wanted.node === name || kernel === undefined) {
    return { ...of, routes, unknown };
  }
  if (kernel.held < all.length || kernel.refused.length > 0) {
    const why = `the kernel of ${name} holds ${plural(kernel.held, 'route')}; whether one leads to ${wanted.node} was not reported`;
    return { ...of, routes, unknown: why };
  }
  const to = { kind: 'next-hop' as const, address: nextHops.addressOf(wanted.node) };
  return { ...of, routes: [...routes, { prefix: wanted.prefix, to }], unknown };
}
