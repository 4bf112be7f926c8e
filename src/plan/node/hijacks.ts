/**
 * Whether what routers advertise to a node means that its own block is reached elsewhere.
 * The alarm looks at every path that was received, also at those with the own AS in
 * AS_PATH: where all nodes share an AS, another node's path has it too.
 *
 * Not a hijack: anything less specific than the block (a default route, an aggregate), and
 * our own route that comes back. That it is our own is certain by its next hop or by its
 * ORIGINATOR_ID. Over eBGP a router that puts itself in place of our next hop hides both, and
 * routers do send it back: FRR to every neighbor of an update group, the one it came from
 * included; a second router shows the route that it has by way of the first. So a path that may
 * be made of ours is taken for ours as long as we announce the block, or did a moment ago.
 *
 * Load-bearing: a node without the API server withdraws a block that is hijacked. A false
 * alarm would take a route away, so what can be explained without a hijack is none.
 */

import { parseAddress } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Finding } from '../blocks/finding.ts';
import type { Hijack } from './router-contact.ts';

/** A route inside an own block, as one router advertises it. */
export interface ReceivedPath {
  readonly peer: string;
  readonly prefix: Prefix;
  /** The first one counts; IPv6 may have a link-local one behind it. */
  readonly nextHops: readonly string[];
  readonly asPath: readonly number[];
  readonly originatorId?: string | undefined;
}

/** A router of this node, and our end of the session with it. */
export interface NeighborRouter {
  readonly name: string;
  readonly address: string;
  readonly asn: number;
  readonly localAsn: number;
  readonly routerId: string;
  /** Every address of this node that is known from the session: its end, its next hops. */
  readonly ownAddresses: readonly string[];
  /** What is announced to it now, by prefix: the next hop. */
  readonly announced: ReadonlyMap<string, string>;
  /** Prefixes that were announced to it so recently that the network may still have them. */
  readonly announcedBefore: ReadonlySet<string>;
}

export type FoundHijack = Omit<Hijack, 'sinceMs'>;

/** More would say nothing new, and a router can advertise a whole table of pieces. */
const most = 256;

export function findHijacks(
  ownBlocks: readonly Prefix[],
  routers: readonly NeighborRouter[],
  paths: readonly ReceivedPath[],
  isOtherNode: (address: string) => boolean = () => false,
): FoundHijack[] {
  const isOurs = ownRouteTest(routers);
  const foreign = paths.filter((path) => !isOurs(path));
  const found: FoundHijack[] = [];
  for (const block of [...ownBlocks].sort((a, b) => a.compare(b))) {
    const cidr = block.toString();
    const inside = foreign.filter(({ prefix }) => block.contains(prefix));
    if (inside.length === 0) continue;
    const isAnnounced = routers.some(
      ({ announced, announcedBefore }) => announced.has(cidr) || announcedBefore.has(cidr),
    );
    for (const path of inside) {
      const isPiece = !path.prefix.equals(block);
      if (isAnnounced && !isPiece && mayBeOurs(path, routers, isOtherNode)) continue;
      const ownNextHop = routers.find(({ name }) => name === path.peer)?.announced.get(cidr);
      found.push({
        cidr,
        prefix: path.prefix.toString(),
        peer: path.peer,
        nextHop: path.nextHops[0] ?? '',
        ...(ownNextHop === undefined ? {} : { ownNextHop }),
      });
    }
  }
  return found.sort(inOrder).slice(0, most);
}

/** For the log, `cadastre status` and the Event. */
export function hijackFinding(node: string, hijack: FoundHijack): Finding {
  return { reason: 'Hijacked', nodes: [node], cidr: hijack.cidr, detail: hijackText(hijack) };
}

export function hijackText({ cidr, prefix, peer, nextHop, ownNextHop }: FoundHijack): string {
  const what = prefix === cidr ? cidr : `${prefix}, a piece of ${cidr},`;
  const own =
    ownNextHop === undefined
      ? 'this node does not announce the block to it'
      : `this node announces the block with next hop ${ownNextHop}`;
  return `router ${peer} reaches ${what} by next hop ${nextHop}; ${own}`;
}

function ownRouteTest(routers: readonly NeighborRouter[]): (path: ReceivedPath) => boolean {
  const addresses = new Set(
    routers
      .flatMap(({ ownAddresses, announced }) => [...ownAddresses, ...announced.values()])
      .map(canonical),
  );
  const routerIds = new Set(routers.map(({ routerId }) => routerId));
  return ({ nextHops, originatorId }) =>
    nextHops.some((text) => addresses.has(canonical(text))) ||
    (originatorId !== undefined && routerIds.has(originatorId));
}

/** A router may have made this path out of ours. */
function mayBeOurs(
  { nextHops, asPath, originatorId }: ReceivedPath,
  routers: readonly NeighborRouter[],
  isOtherNode: (address: string) => boolean,
): boolean {
  const origin = asPath.at(-1);
  // Without an AS path it was made inside our own AS, and a reflector names who made it.
  if (origin === undefined || originatorId !== undefined) return false;
  // Routers may replace the nodes' AS by their own (as-override), but a path with the router's AS
  // alone begins there: a static route, a network of its own.
  const isKnown = routers.some(
    ({ asn, localAsn }) => origin === localAsn || (origin === asn && asPath.length > 1),
  );
  return isKnown && !nextHops.some((text) => isOtherNode(canonical(text)));
}

function canonical(text: string): string {
  // An IPv6 route over an IPv4 session may have the router's IPv4 address (RFC 4291 §2.5.5.2).
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1];
  return mapped ?? parseAddress(text)?.toString() ?? text;
}

function inOrder(a: FoundHijack, b: FoundHijack): number {
  const [left, right] = [a, b].map((one) => `${one.cidr} ${one.prefix} ${one.peer}`) as [
    string,
    string,
  ];
  return left < right ? -1 : left > right ? 1 : 0;
}
