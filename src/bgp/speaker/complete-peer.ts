/**
 * A peer as its session needs it: the settings of model/peer-settings.ts, held to their
 * limits, with every default in place and what follows from them.
 */
import { isIPv6 } from 'node:net';
import { peerProblems } from '../../model/peer-limits.ts';
import {
  type CompletePeerSettings,
  type PeerSettings,
  withPeerDefaults,
} from '../../model/peer-settings.ts';
import { canonicalPeerAddress } from '../transport/canonical-peer-address.ts';
import type { SocketOptions } from '../transport/native-sockets.ts';

export type CompletePeer = CompletePeerSettings & {
  readonly name: string;
  readonly routerId: string;
  readonly nextHop: NonNullable<PeerSettings['nextHop']>;
  readonly hasExtendedNextHop: boolean;
  readonly isIbgp: boolean;
  readonly socket: SocketOptions;
};

type CompletePeerResult =
  | { kind: 'peer'; peer: CompletePeer }
  | { kind: 'refused'; reason: string };

export function completePeer(settings: PeerSettings): CompletePeerResult {
  const [problem] = peerProblems(settings);
  if (problem !== undefined) return { kind: 'refused', reason: problem.sentence };
  const { routerId } = settings;
  if (routerId === undefined) return { kind: 'refused', reason: 'routerId is missing' };
  const complete = withPeerDefaults(settings);
  const address = canonicalPeerAddress(settings.address) ?? settings.address;
  const peer: CompletePeer = {
    ...complete,
    address,
    routerId,
    name: settings.name ?? address,
    nextHop: settings.nextHop ?? {},
    // RFC 8950: only of use where IPv4 routes travel with IPv6 next hops.
    hasExtendedNextHop:
      settings.hasExtendedNextHop ?? (isIPv6(address) && complete.families.includes('ipv4')),
    isIbgp: settings.asn === settings.localAsn,
    socket: socketOptions(settings),
  };
  return { kind: 'peer', peer };
}

function socketOptions({ password, multihopTtl, ttlSecurityHops }: PeerSettings): SocketOptions {
  if (ttlSecurityHops === undefined) return { password, ttl: multihopTtl };
  // RFC 5082 §3: send 255; what has crossed more hops than allowed is not from the peer.
  return { password, ttl: 255, minTtl: 256 - ttlSecurityHops };
}
