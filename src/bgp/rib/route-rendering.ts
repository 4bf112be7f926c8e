/** What one announcement looks like towards one peer: path, next hop, preferences. Pure. */
import { isIPv4, isIPv6 } from 'node:net';
import type { Family } from '../../net/family.ts';
import type { Negotiated } from '../session/session-negotiation.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import { gracefulShutdownCommunity } from '../wire/community-text.ts';
import type { PathAttributes } from '../wire/message.ts';
import type { AttributeSet } from './announcement.ts';

export interface Rendered {
  readonly attributes: PathAttributes;
  readonly nextHops: readonly string[];
}

type RenderResult =
  | { readonly kind: 'rendered'; readonly rendered: Rendered }
  | { readonly kind: 'unencodable'; readonly reason: string };

export interface RenderContext {
  readonly peer: CompletePeer;
  readonly negotiated: Negotiated;
  /** Our end of the session. */
  readonly localAddress: string;
}

export function renderRoute(
  set: AttributeSet,
  family: Family,
  { peer, negotiated, localAddress }: RenderContext,
): RenderResult {
  const nextHop = chooseNextHop(
    set.nextHop ?? peer.nextHop[family] ?? localAddress,
    family,
    negotiated,
  );
  if (nextHop === undefined) {
    const reason = `no ${family} next hop: the session runs over ${localAddress}, and none is configured`;
    return { kind: 'unencodable', reason };
  }
  const { localAsn, isIbgp } = peer;
  // RFC 4271 §5.1.2: an empty path inside the AS, our own AS first outside.
  const ours = isIbgp ? [] : new Array<number>(1 + set.prepend).fill(localAsn);
  const communities = peer.gracefulShutdown
    ? [...new Set([...set.communities, gracefulShutdownCommunity])].sort((x, y) => x - y)
    : set.communities;
  // RFC 8326 §4.1: inside the AS the lowest preference says the same as the community.
  const localPref = peer.gracefulShutdown ? 0 : (set.localPref ?? 100);
  const attributes: PathAttributes = {
    origin: set.origin,
    asPath: ours.length === 0 ? [] : [{ type: 'seq', asns: ours }],
    ...(set.med === undefined ? {} : { med: set.med }),
    // RFC 4271 §5.1.5: LOCAL_PREF is for internal peers only.
    ...(isIbgp ? { localPref } : {}),
    ...(communities.length === 0 ? {} : { communities }),
    ...(set.largeCommunities.length === 0 ? {} : { largeCommunities: set.largeCommunities }),
  };
  return { kind: 'rendered', rendered: { attributes, nextHops: [nextHop] } };
}

function chooseNextHop(
  candidate: string,
  family: Family,
  negotiated: Negotiated,
): string | undefined {
  const plain = candidate.split('%')[0] ?? '';
  if (family === 'ipv6') return isIPv6(plain) ? plain : undefined;
  if (isIPv4(plain)) return plain;
  // RFC 8950 §4: an IPv6 next hop for IPv4 routes only where both said so.
  return negotiated.hasExtendedNextHop && isIPv6(plain) ? plain : undefined;
}
