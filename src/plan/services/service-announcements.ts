import type { BgpAdvertisement } from '../../model/bgp-advertisement.ts';
import { spanOf } from '../../model/bgp-config/address-range.ts';
import { excludeNodeLabel } from '../../model/keys.ts';
import { type Labels, selects } from '../../model/label-selector.ts';
import type { LoadBalancerPool, PoolAdvertisement } from '../../model/load-balancer-pool.ts';
import { hostPrefix } from '../../model/service-address.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { Span } from '../../net/span-list.ts';
import type { Finding } from '../blocks/finding.ts';
import { type DesiredAnnouncement, withAttributes } from '../node/desired-announcements.ts';
import type { RoutedNode } from '../node/desired-routes.ts';

/**
 * Which addresses of Services a node announces. Three things must agree:
 * the register gives the address to this very Service (uid and all), the Service
 * shows it, so that the nodes' own rules know what to do with the packets, and the
 * node can serve it: any node can for traffic policy Cluster, one with a ready
 * endpoint for Local. One that is being deleted and still serves is as good while the
 * node leaves in order, or as long as no other node has a ready one.
 *
 * What a Service shows but the register gives to another, to a node's pods, or to
 * nobody is not announced: the ownership guard, in the word NotOwner.
 */
export interface ServiceFacts {
  readonly services: readonly ServiceFact[];
  readonly addresses: readonly AddressFact[];
  readonly pools: readonly LoadBalancerPool[];
}

export interface ServiceFact {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly ingress: readonly string[];
  readonly isLocal: boolean;
  /** An endpoint on this node is ready. */
  readonly hasReady: boolean;
  /** An endpoint on this node is being deleted, and still serves. */
  readonly hasEnding?: true;
  /** No other node would announce it. Known only while it matters: the node or the endpoint goes. */
  readonly isOnlyHere?: true;
}

/** What the register says. */
export interface AddressFact {
  readonly address: string;
  readonly pool: string;
  readonly service: string;
  readonly serviceUid: string;
}

export const noServices: ServiceFacts = { services: [], addresses: [], pools: [] };

export interface ServiceAnnouncementInput {
  readonly self: Pick<RoutedNode, 'name' | 'blocks'> & { readonly labels: Labels };
  readonly others: Iterable<Pick<RoutedNode, 'blocks'>>;
  readonly facts: ServiceFacts;
  readonly advertisements: Iterable<BgpAdvertisement>;
  /** There is a sign on the Node that it is to leave; what follows from it is not decided here. */
  readonly isLeaving: boolean;
}

interface ServiceAnnouncements {
  announcements: DesiredAnnouncement[];
  /** Prefixes that no other node would announce, each with a sentence that says so. */
  onlyHere: ReadonlyMap<string, string>;
  findings: Finding[];
}

export function serviceAnnouncements(input: ServiceAnnouncementInput): ServiceAnnouncements {
  const { self, facts, isLeaving } = input;
  const onlyHere = new Map<string, string>();
  if (facts.services.length === 0 || Object.hasOwn(self.labels, excludeNodeLabel)) {
    return { announcements: [], onlyHere, findings: [] };
  }
  const owners = new Map(facts.addresses.map((fact) => [fact.address, fact]));
  const ofPods = PrefixSet.of(
    [self, ...input.others].flatMap(({ blocks }) => blocks.map(({ prefix }) => prefix)),
  );
  const pools = new Map(facts.pools.map((pool) => [pool.name, pool]));
  const spans = facts.pools.flatMap(({ ranges }) => ranges.map(spanOf));
  const advertisements = [...input.advertisements].filter(({ nodeSelector }) =>
    selects(nodeSelector, self.labels),
  );
  const made = new Map<string, DesiredAnnouncement>();
  const findings: Finding[] = [];
  for (const service of [...facts.services].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    for (const text of service.ingress) {
      const address = parseAddress(text);
      if (address === undefined) continue;
      const owner = owners.get(address.toString());
      const objection = whyNot(service, address, owner, ofPods, spans);
      if (objection === 'foreign') continue;
      if (objection !== undefined) {
        const cidr = hostPrefix(address).toString();
        const detail = `${cidr} of Service ${service.key} is not announced: ${objection}`;
        findings.push({ reason: 'NotOwner', nodes: [self.name], cidr, detail });
      } else if (canServe(service, isLeaving)) {
        for (const one of dress(address, pools.get(owner!.pool), owner!.pool, advertisements)) {
          made.set(JSON.stringify(one), one);
          if (service.isOnlyHere) onlyHere.set(one.prefix, whyOnlyHere(one.prefix, service));
        }
      }
    }
  }
  return { announcements: [...made.values()], onlyHere, findings };
}

function canServe({ isLocal, hasReady, hasEnding, isOnlyHere }: ServiceFact, isLeaving: boolean) {
  if (!isLocal || hasReady) return true;
  return hasEnding === true && (isLeaving || isOnlyHere === true);
}

function whyOnlyHere(prefix: string, { key, isLocal }: ServiceFact): string {
  const nobody = isLocal
    ? 'no other node that stays has a ready endpoint'
    : 'no other node stays that could announce it';
  return `${prefix} of Service ${key} stays announced: ${nobody}`;
}

/** In words; `foreign` if it was never ours to announce. */
function whyNot(
  service: ServiceFact,
  address: Address,
  owner: AddressFact | undefined,
  ofPods: PrefixSet,
  spans: readonly Span[],
): string | undefined {
  const block = ofPods.overlapping(hostPrefix(address));
  if (owner === undefined) {
    const value = address.toBigInt();
    const isOurs = spans.some(
      ({ family, first, last }) => family === address.family && first <= value && value <= last,
    );
    if (!isOurs && block === undefined) return 'foreign';
    return 'the register gives it to nobody';
  }
  if (owner.service !== service.key) return `the register gives it to Service ${owner.service}`;
  if (owner.serviceUid !== service.uid) {
    return 'the register gives it to an earlier Service of that name';
  }
  return block === undefined ? undefined : `it lies in ${block}, which pods have`;
}

function dress(
  address: Address,
  pool: LoadBalancerPool | undefined,
  poolName: string,
  advertisements: readonly BgpAdvertisement[],
): DesiredAnnouncement[] {
  const plain: PoolAdvertisement = { lengths: { ipv4: 32, ipv6: 128 } };
  return (pool?.advertisements ?? [plain]).flatMap((one) => {
    const prefix = aggregate(address, one, pool);
    // An entry of the ConfigMap says everything itself; a pool object leaves it to BGPAdvertisements.
    if (one.communities === undefined) {
      return withAttributes({ prefix, pool: poolName }, advertisements);
    }
    const { communities, localPref } = one;
    return [
      {
        prefix: prefix.toString(),
        ...(communities.length > 0 ? { communities } : {}),
        ...(localPref === undefined ? {} : { localPref }),
      },
    ];
  });
}

/** Never wider than the pool: that would draw traffic for addresses that are not ours. */
function aggregate(
  address: Address,
  { lengths }: PoolAdvertisement,
  pool: LoadBalancerPool | undefined,
): Prefix {
  const wide = Prefix.of(address, lengths[address.family]);
  const [first, last] = [wide.first().toBigInt(), wide.last().toBigInt()];
  const isInside = (pool?.ranges ?? [])
    .map(spanOf)
    .some((span) => span.family === address.family && span.first <= first && last <= span.last);
  return isInside ? wide : hostPrefix(address);
}
