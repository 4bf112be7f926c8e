/** One prefix to advertise to the routers, as its owner declares it. Treat it as immutable. */
import { isIPv4, isIPv6 } from 'node:net';
import { parseCommunity, parseLargeCommunity } from '../wire/community-text.ts';
import type { LargeCommunity, Origin } from '../wire/message.ts';

export interface Announcement {
  readonly prefix: string;
  /** Where the traffic shall go; the session's own address unless given. */
  readonly nextHop?: string | undefined;
  /** `64513:100`, or a well-known name such as `no-export`. */
  readonly communities?: readonly string[] | undefined;
  /** `64513:1:2`. */
  readonly largeCommunities?: readonly string[] | undefined;
  /** For iBGP peers; 100 unless given. */
  readonly localPref?: number | undefined;
  readonly med?: number | undefined;
  /** How often our AS is repeated towards eBGP peers, beyond the one time it has to be there. */
  readonly prepend?: number | undefined;
  readonly origin?: Origin | undefined;
  /** Names of the peers it is advertised to; all of them unless given. */
  readonly peers?: readonly string[] | undefined;
}

/** Everything about an announcement but its prefix; one object for all that are equal. */
export interface AttributeSet {
  readonly nextHop: string | undefined;
  readonly communities: readonly number[];
  readonly largeCommunities: readonly LargeCommunity[];
  readonly localPref: number | undefined;
  readonly med: number | undefined;
  readonly prepend: number;
  readonly origin: Origin;
  /** Peer names; undefined means all. */
  readonly peers: ReadonlySet<string> | undefined;
}

/** Announcements of one family that are equal but for the prefix have equal keys. */
export function attributeKey(a: Announcement): string {
  const family = a.prefix.includes(':') ? '6' : '4';
  if (isPlain(a)) return a.nextHop === undefined ? family : family + a.nextHop;
  return JSON.stringify([
    family,
    a.nextHop,
    a.communities,
    a.largeCommunities,
    a.localPref,
    a.med,
    a.prepend,
    a.origin,
    a.peers,
  ]);
}

/** Most announcements of a cluster carry nothing but a prefix: no need to build a text for each. */
function isPlain(a: Announcement): boolean {
  return (
    a.communities === undefined &&
    a.largeCommunities === undefined &&
    a.localPref === undefined &&
    a.med === undefined &&
    a.prepend === undefined &&
    a.origin === undefined &&
    a.peers === undefined
  );
}

const u32 = 0xffffffff;
/** Leaves room for everything else and some prefixes in the 4,096 octets of RFC 4271 §4.1. */
const attributeOctetLimit = 3500;

/** The attributes of an announcement, or the reason why it cannot be made. */
export function readAttributes(a: Announcement): AttributeSet | string {
  const communities: number[] = [];
  for (const text of a.communities ?? []) {
    const value = parseCommunity(text);
    if (value === undefined) return `community ${text} is not of the form 64513:100`;
    communities.push(value);
  }
  const largeCommunities: LargeCommunity[] = [];
  for (const text of a.largeCommunities ?? []) {
    const value = parseLargeCommunity(text);
    if (value === undefined) return `large community ${text} is not of the form 64513:1:2`;
    largeCommunities.push(value);
  }
  const isWhole = (value: number | undefined, high: number) =>
    value === undefined || (Number.isInteger(value) && value >= 0 && value <= high);
  if (!isWhole(a.localPref, u32)) return `local-pref ${a.localPref} is not a 32-bit number`;
  if (!isWhole(a.med, u32)) return `MED ${a.med} is not a 32-bit number`;
  // One AS_PATH segment holds 255 numbers, and no router accepts a path that long.
  if (!isWhole(a.prepend, 100)) return `prepend ${a.prepend} is not between 0 and 100`;
  if (a.nextHop !== undefined && !isIPv4(a.nextHop) && !isIPv6(a.nextHop)) {
    return `next hop ${a.nextHop} is not an IP address`;
  }
  if (a.nextHop !== undefined && a.prefix.includes(':') && isIPv4(a.nextHop)) {
    return `next hop ${a.nextHop} of an IPv6 prefix is an IPv4 address`;
  }
  const octets = 4 * communities.length + 12 * largeCommunities.length + 4 * (a.prepend ?? 0);
  if (octets > attributeOctetLimit) {
    return `${octets} octets of communities and path do not fit into an UPDATE`;
  }
  return {
    nextHop: a.nextHop,
    // RFC 1997 and 8092 give the order no meaning; sorted, equal sets are equal octets.
    communities: [...new Set(communities)].sort((x, y) => x - y),
    largeCommunities,
    localPref: a.localPref,
    med: a.med,
    prepend: a.prepend ?? 0,
    origin: a.origin ?? 'igp',
    peers: a.peers === undefined ? undefined : new Set(a.peers),
  };
}
