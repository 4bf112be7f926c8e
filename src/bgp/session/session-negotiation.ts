/** Our OPEN, and what it comes to once the peer's has arrived. Pure. */
import type { Family } from '../../net/family.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import {
  type AfiSafi,
  type Capability,
  errorCode,
  ipv4Unicast,
  ipv6Unicast,
  type OpenMessage,
  openAsn,
  openError,
  refuseOpen,
  type SessionContext,
  WireError,
} from '../wire/message.ts';
import { asTrans } from '../wire/open.ts';

/**
 * What we can prove about our own past (RFC 4724 §3). `hasRestarted` needs an
 * earlier run inside the restart time, `forwarding` names the families whose
 * routes the kernel still holds. Claiming more than is true makes routers send
 * packets into a hole.
 */
export interface RestartEvidence {
  readonly hasRestarted: boolean;
  readonly forwarding: readonly Family[];
}

export const noEvidence: RestartEvidence = { hasRestarted: false, forwarding: [] };

interface PeerGracefulRestart {
  readonly restartSeconds: number;
  readonly hasRestarted: boolean;
  /** Both sides set the N-bit: a NOTIFICATION keeps routes unless it is a Hard Reset (RFC 8538). */
  readonly coversNotification: boolean;
  /** Families the peer can keep, with its forwarding bit. */
  readonly families: ReadonlyMap<Family, { readonly forwarding: boolean }>;
}

/** What both OPENs together allow. */
export interface Negotiated {
  readonly peerAsn: number;
  readonly peerRouterId: string;
  readonly families: readonly Family[];
  readonly holdSeconds: number;
  readonly keepaliveSeconds: number;
  readonly hasRouteRefresh: boolean;
  readonly hasEnhancedRouteRefresh: boolean;
  /** IPv4 routes may have IPv6 next hops. */
  readonly hasExtendedNextHop: boolean;
  readonly gracefulRestart: PeerGracefulRestart | undefined;
  readonly receive: SessionContext;
  readonly send: SessionContext;
}

export function wireFamily(family: Family): AfiSafi {
  return family === 'ipv4' ? ipv4Unicast : ipv6Unicast;
}

export function familyOfWire(afi: number, safi: number): Family | undefined {
  if (safi !== 1) return undefined;
  return afi === 1 ? 'ipv4' : afi === 2 ? 'ipv6' : undefined;
}

export function ourOpen(peer: CompletePeer, evidence: RestartEvidence): OpenMessage {
  const capabilities: Capability[] = [];
  if (peer.hasMultiprotocol) {
    for (const family of peer.families) {
      capabilities.push({ name: 'multiprotocol', ...wireFamily(family) });
    }
  }
  if (peer.hasRouteRefresh) {
    capabilities.push({ name: 'route-refresh' }, { name: 'enhanced-route-refresh' });
  }
  if (peer.hasExtendedNextHop) {
    capabilities.push({
      name: 'extended-next-hop',
      families: [{ ...ipv4Unicast, nextHopAfi: ipv6Unicast.afi }],
    });
  }
  if (peer.hasExtendedMessage) capabilities.push({ name: 'extended-message' });
  if (peer.hasAs4) capabilities.push({ name: 'as4', asn: peer.localAsn });
  if (peer.hasAddPathReceive) {
    const families = peer.families.map((family) => ({ ...wireFamily(family), mode: 1 }));
    capabilities.push({ name: 'add-path', families });
  }
  if (peer.gracefulRestartSeconds > 0) {
    capabilities.push({
      name: 'graceful-restart',
      restart: evidence.hasRestarted,
      notification: peer.hasRestartNotification,
      timeSeconds: peer.gracefulRestartSeconds,
      families: peer.families.map((family) => ({
        ...wireFamily(family),
        forwarding: evidence.forwarding.includes(family),
      })),
    });
  }
  return {
    type: 'open',
    version: 4,
    // RFC 6793 §4.1: AS_TRANS stands in for what two octets cannot hold.
    asn: peer.localAsn > 0xffff ? asTrans : peer.localAsn,
    holdSeconds: peer.holdSeconds,
    routerId: peer.routerId,
    capabilities,
  };
}

export function negotiateSession(peer: CompletePeer, open: OpenMessage): Negotiated | WireError {
  const refusal = refuseOpen(open, {
    peerAsn: peer.asn,
    localAsn: peer.localAsn,
    localRouterId: peer.routerId,
  });
  if (refusal !== undefined) return refusal;
  const families = commonFamilies(peer, open);
  if (families.length === 0) return noCommonFamily(peer);

  const has = (name: Capability['name']) => open.capabilities.some((c) => c.name === name);
  const extendedMessage = peer.hasExtendedMessage && has('extended-message');
  const hasRouteRefresh =
    peer.hasRouteRefresh && (has('route-refresh') || has('route-refresh-cisco'));
  const enhancedRouteRefresh = peer.hasRouteRefresh && has('enhanced-route-refresh');
  // RFC 4271 §4.2: the smaller of both; §4.4: a third of it between keepalives.
  const holdSeconds = Math.min(peer.holdSeconds, open.holdSeconds);
  const context: SessionContext = {
    as4: peer.hasAs4 && has('as4'),
    ibgp: peer.isIbgp,
    extendedMessage,
    enhancedRouteRefresh,
    addPathIpv4: false,
    addPathIpv6: false,
  };
  return {
    peerAsn: openAsn(open),
    peerRouterId: open.routerId,
    families,
    holdSeconds,
    keepaliveSeconds: Math.min(peer.keepaliveSeconds ?? Number.POSITIVE_INFINITY, holdSeconds / 3),
    hasRouteRefresh,
    hasEnhancedRouteRefresh: enhancedRouteRefresh,
    hasExtendedNextHop: peer.hasExtendedNextHop && takesIpv6NextHops(open),
    gracefulRestart: gracefulRestart(peer, open),
    send: context,
    receive: {
      ...context,
      addPathIpv4: peer.hasAddPathReceive && sendsPaths(open, 'ipv4'),
      addPathIpv6: peer.hasAddPathReceive && sendsPaths(open, 'ipv6'),
    },
  };
}

function commonFamilies(peer: CompletePeer, open: OpenMessage): Family[] {
  const theirs = open.capabilities.flatMap((c) =>
    c.name === 'multiprotocol' ? [familyOfWire(c.afi, c.safi)] : [],
  );
  // RFC 4760 §8: who says nothing about families speaks IPv4 unicast and nothing else.
  const offered: (Family | undefined)[] =
    peer.hasMultiprotocol && theirs.length > 0 ? theirs : ['ipv4'];
  return peer.families.filter((family) => offered.includes(family));
}

/** RFC 5492 §5: the data lists the capabilities that would have been needed. */
function noCommonFamily(peer: CompletePeer): WireError {
  const data = peer.families.flatMap((family) => {
    const { afi, safi } = wireFamily(family);
    return [1, 4, 0, afi, 0, safi];
  });
  return new WireError('session-reset', {
    code: errorCode.open,
    subcode: openError.unsupportedCapability,
    data: Uint8Array.from(data),
    detail: `no address family in common; we speak ${peer.families.join(' and ')}`,
  });
}

function takesIpv6NextHops(open: OpenMessage): boolean {
  return open.capabilities.some(
    (c) =>
      c.name === 'extended-next-hop' &&
      c.families.some((f) => f.afi === 1 && f.safi === 1 && f.nextHopAfi === 2),
  );
}

function sendsPaths(open: OpenMessage, family: Family): boolean {
  const { afi, safi } = wireFamily(family);
  return open.capabilities.some(
    (c) =>
      c.name === 'add-path' &&
      // RFC 7911 §4: 2 is send, 3 is both.
      c.families.some((f) => f.afi === afi && f.safi === safi && (f.mode === 2 || f.mode === 3)),
  );
}

function gracefulRestart(peer: CompletePeer, open: OpenMessage): PeerGracefulRestart | undefined {
  if (peer.gracefulRestartSeconds === 0) return undefined;
  // RFC 4724 §3: of several instances the last one counts.
  const offer = open.capabilities.filter((c) => c.name === 'graceful-restart').at(-1);
  if (offer === undefined) return undefined;
  const families = new Map<Family, { forwarding: boolean }>();
  for (const { afi, safi, forwarding } of offer.families) {
    const family = familyOfWire(afi, safi);
    if (family !== undefined && peer.families.includes(family)) {
      families.set(family, { forwarding });
    }
  }
  return {
    restartSeconds: offer.timeSeconds,
    hasRestarted: offer.restart,
    coversNotification: offer.notification && peer.hasRestartNotification,
    families,
  };
}
