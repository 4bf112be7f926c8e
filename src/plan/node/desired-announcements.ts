import type { BgpAdvertisement } from '../../model/bgp-advertisement.ts';
import { type Labels, selects } from '../../model/label-selector.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { Finding } from '../blocks/finding.ts';
import type { RoutedNode } from './desired-routes.ts';
import type { OwnedBlock } from './node-truth.ts';

/**
 * What a node advertises to its routers: the node's own blocks, each of them, to every
 * peer of the node, and nothing else. BGPAdvertisements only add
 * attributes (communities, preference); there is no field in which somebody could name a
 * prefix. Where another node, older than this one, holds a block that overlaps
 * (mode kubernetes cannot rule it out), this node stays silent about it: the
 * ownership guard.
 */
export interface DesiredAnnouncement {
  prefix: string;
  /** Names; absent: all peers of the node. */
  peers?: readonly string[];
  communities?: readonly string[];
  largeCommunities?: readonly string[];
  localPref?: number;
  med?: number;
  prepend?: number;
}

export interface AnnouncementInput {
  readonly self: Omit<RoutedNode, 'blocks'> & {
    readonly labels: Labels;
    readonly blocks: readonly Pick<OwnedBlock, 'prefix' | 'pool'>[];
  };
  readonly others: Iterable<RoutedNode>;
  readonly advertisements: Iterable<BgpAdvertisement>;
}

export interface DesiredAnnouncements {
  announcements: DesiredAnnouncement[];
  findings: Finding[];
}

export function desiredAnnouncements(input: AnnouncementInput): DesiredAnnouncements {
  const { self } = input;
  const findings = contested(input);
  const silent = new Set(findings.map(({ cidr }) => cidr));
  const chosen = [...input.advertisements].filter(({ nodeSelector }) =>
    selects(nodeSelector, self.labels),
  );
  const announcements = [...self.blocks]
    .sort((a, b) => a.prefix.compare(b.prefix))
    .filter(({ prefix }) => !silent.has(prefix.toString()))
    .flatMap((block) => withAttributes(block, chosen));
  return { announcements, findings };
}

/** In order: for each peer the first that is for it counts, and the last is for everyone. */
export function withAttributes(
  { prefix, pool }: Pick<OwnedBlock, 'prefix' | 'pool'>,
  chosen: readonly BgpAdvertisement[],
): DesiredAnnouncement[] {
  const advertisements = [...chosen].sort(
    (a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1),
  );
  const made: DesiredAnnouncement[] = [];
  const served = new Set<string>();
  for (const advertisement of advertisements) {
    const { pools, peers } = advertisement;
    if (pools.length > 0 && !pools.includes(pool)) continue;
    const announcement = { prefix: prefix.toString(), ...attributesOf(advertisement) };
    if (peers.length === 0) return [...made, announcement];
    const fresh = peers.filter((peer) => !served.has(peer));
    if (fresh.length === 0) continue;
    for (const peer of fresh) served.add(peer);
    made.push({ ...announcement, peers: fresh });
  }
  return [...made, { prefix: prefix.toString() }];
}

function attributesOf(
  advertisement: BgpAdvertisement,
): Omit<DesiredAnnouncement, 'prefix' | 'peers'> {
  const { communities, largeCommunities, localPref, med, prepend } = advertisement;
  return {
    ...(communities.length > 0 ? { communities } : {}),
    ...(largeCommunities.length > 0 ? { largeCommunities } : {}),
    ...(localPref === undefined ? {} : { localPref }),
    ...(med === undefined ? {} : { med }),
    ...(prepend === undefined ? {} : { prepend }),
  };
}

function contested({ self, others }: AnnouncementInput): Finding[] {
  const own = PrefixSet.of(self.blocks.map(({ prefix }) => prefix));
  const findings = new Map<string, Finding>();
  for (const other of others) {
    if (other.name === self.name || !isOlder(other, self)) continue;
    for (const { prefix: theirs } of other.blocks) {
      if (own.overlapping(theirs) === undefined) continue;
      for (const { prefix } of self.blocks) {
        if (!prefix.overlaps(theirs)) continue;
        const cidr = prefix.toString();
        const detail = `${prefix} is not announced by ${self.name}: ${other.name}, the older node, holds ${theirs}`;
        findings.set(cidr, { reason: 'NotOwner', nodes: [self.name, other.name], cidr, detail });
      }
    }
  }
  return [...findings.values()].sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}

/** The same rule by which routes believe one of two holders. */
function isOlder(a: Pick<RoutedNode, 'name' | 'createdMs'>, b: typeof a): boolean {
  return a.createdMs < b.createdMs || (a.createdMs === b.createdMs && a.name < b.name);
}
