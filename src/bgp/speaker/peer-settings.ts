/**
 * What is configured about one peer, and what it means with the defaults filled
 * in. `needsReset` knows which of it was agreed in the OPEN or lives in the TCP
 * connection: a change of anything else must not cost a session.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { Family } from '../../net/family.ts';
import { canonicalAddress } from '../transport/canonical-address.ts';
import { maxMd5PasswordBytes, type SocketOptions } from '../transport/native-sockets.ts';

export interface PeerSettings {
  address: string;
  asn: number;
  localAsn: number;
  /** The BGP identifier, written like an IPv4 address. */
  routerId: string;
  /** What announcements and views call the peer; its address unless given. */
  name?: string | undefined;
  port?: number | undefined;
  localAddress?: string | undefined;
  localPort?: number | undefined;
  /** Never connects, only waits. */
  isPassive?: boolean | undefined;
  families?: readonly Family[] | undefined;
  /** 0 switches keepalives and the hold timer off (RFC 4271 §4.2). */
  holdSeconds?: number | undefined;
  keepaliveSeconds?: number | undefined;
  /** How long a connected peer may take to say OPEN. */
  openHoldSeconds?: number | undefined;
  connectRetrySeconds?: number | undefined;
  /** First wait after a session that failed; doubles up to `maxIdleSeconds`. */
  idleSeconds?: number | undefined;
  maxIdleSeconds?: number | undefined;
  /** How long nothing of ours may leave before we give up (RFC 9687); 0: for ever. */
  sendHoldSeconds?: number | undefined;
  /** TCP-MD5 (RFC 2385). */
  password?: string | undefined;
  /** TTL of what we send, for a peer some hops away. */
  multihopTtl?: number | undefined;
  /** GTSM (RFC 5082): the peer is at most this many hops away. */
  ttlSecurityHops?: number | undefined;
  /** Seconds the peer may keep our routes while we restart; undefined: off. */
  gracefulRestartSeconds?: number | undefined;
  /** Tell the peer to prefer other paths before we go (RFC 8326). */
  gracefulShutdown?: boolean | undefined;
  /** Next hop of announcements that name none; the session's own address unless given. */
  nextHop?: Partial<Record<Family, string>> | undefined;
  /** Capabilities that some old peer cannot bear. All on, extended messages off. */
  capabilities?:
    | {
        multiprotocol?: boolean | undefined;
        routeRefresh?: boolean | undefined;
        as4?: boolean | undefined;
        extendedNextHop?: boolean | undefined;
        extendedMessage?: boolean | undefined;
        /** Take several paths per prefix from the peer (RFC 7911). */
        addPathReceive?: boolean | undefined;
      }
    | undefined;
}

/** Settings with every default in place. */
export interface Peer {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly asn: number;
  readonly localAsn: number;
  readonly isIbgp: boolean;
  readonly routerId: string;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly isPassive: boolean;
  readonly families: readonly Family[];
  readonly holdSeconds: number;
  readonly keepaliveSeconds: number | undefined;
  readonly openHoldSeconds: number;
  readonly connectRetrySeconds: number;
  readonly idleSeconds: number;
  readonly maxIdleSeconds: number;
  readonly sendHoldSeconds: number | undefined;
  readonly socket: SocketOptions;
  readonly gracefulRestartSeconds: number | undefined;
  readonly gracefulShutdown: boolean;
  readonly nextHop: Partial<Record<Family, string>>;
  readonly hasMultiprotocol: boolean;
  readonly hasRouteRefresh: boolean;
  readonly hasAs4: boolean;
  readonly hasExtendedNextHop: boolean;
  readonly hasExtendedMessage: boolean;
  readonly hasAddPathReceive: boolean;
}

export type PeerResult = { kind: 'peer'; peer: Peer } | { kind: 'refused'; reason: string };

const asnLimit = 2 ** 32 - 1;

export function completePeer(settings: PeerSettings): PeerResult {
  const reason = refuseSettings(settings);
  if (reason !== undefined) return { kind: 'refused', reason };
  const address = canonicalAddress(settings.address) ?? settings.address;
  const families = settings.families ?? ['ipv4', 'ipv6'];
  const capabilities = settings.capabilities ?? {};
  const peer: Peer = {
    name: settings.name ?? address,
    address,
    port: settings.port ?? 179,
    asn: settings.asn,
    localAsn: settings.localAsn,
    isIbgp: settings.asn === settings.localAsn,
    routerId: settings.routerId,
    localAddress: settings.localAddress,
    localPort: settings.localPort,
    isPassive: settings.isPassive ?? false,
    families,
    // RFC 4271 §10 suggests 90 seconds to hold and 120 between two attempts to
    // connect; a router that reboots should not wait two minutes for its nodes.
    holdSeconds: settings.holdSeconds ?? 90,
    keepaliveSeconds: settings.keepaliveSeconds,
    connectRetrySeconds: settings.connectRetrySeconds ?? 10,
    // RFC 4271 §8.2.2 suggests four minutes.
    openHoldSeconds: settings.openHoldSeconds ?? 240,
    idleSeconds: settings.idleSeconds ?? 1,
    maxIdleSeconds: settings.maxIdleSeconds ?? 60,
    sendHoldSeconds: settings.sendHoldSeconds,
    socket: socketOptions(settings),
    gracefulRestartSeconds: settings.gracefulRestartSeconds,
    gracefulShutdown: settings.gracefulShutdown ?? false,
    nextHop: settings.nextHop ?? {},
    hasMultiprotocol: capabilities.multiprotocol ?? true,
    hasRouteRefresh: capabilities.routeRefresh ?? true,
    hasAs4: capabilities.as4 ?? true,
    // RFC 8950: only of use where IPv4 routes travel with IPv6 next hops.
    hasExtendedNextHop:
      capabilities.extendedNextHop ?? (isIPv6(address) && families.includes('ipv4')),
    hasExtendedMessage: capabilities.extendedMessage ?? false,
    hasAddPathReceive: capabilities.addPathReceive ?? false,
  };
  return { kind: 'peer', peer };
}

function socketOptions(settings: PeerSettings): SocketOptions {
  if (settings.ttlSecurityHops !== undefined) {
    // RFC 5082 §3: send 255; what has crossed more hops than allowed is not from the peer.
    return { password: settings.password, ttl: 255, minTtl: 256 - settings.ttlSecurityHops };
  }
  return { password: settings.password, ttl: settings.multihopTtl };
}

function refuseSettings(s: PeerSettings): string | undefined {
  const whole = (value: number | undefined, low: number, high: number) =>
    value === undefined || (Number.isInteger(value) && value >= low && value <= high);
  const plain = s.address.split('%')[0] ?? '';
  if (isIP(plain) === 0) return `peer address ${s.address} is not an IP address`;
  if (!whole(s.asn, 1, asnLimit)) return `peer AS ${s.asn} is not between 1 and ${asnLimit}`;
  if (!whole(s.localAsn, 1, asnLimit))
    return `our AS ${s.localAsn} is not between 1 and ${asnLimit}`;
  if (!isIPv4(s.routerId) || s.routerId === '0.0.0.0') {
    return `router id ${s.routerId} is not of the form 192.0.2.1`;
  }
  if (s.localAddress !== undefined && isIP(s.localAddress.split('%')[0] ?? '') !== isIP(plain)) {
    return `local address ${s.localAddress} is not of the family of peer ${s.address}`;
  }
  if (!whole(s.port, 1, 65535)) return `port ${s.port} is not between 1 and 65535`;
  if (!whole(s.localPort, 1, 65535)) return `local port ${s.localPort} is not between 1 and 65535`;
  if (s.families?.length === 0) return 'a peer needs at least one address family';
  // RFC 4271 §4.2: 0 or at least 3.
  if (!whole(s.holdSeconds, 0, 65535) || s.holdSeconds === 1 || s.holdSeconds === 2) {
    return `hold time ${s.holdSeconds} s is neither 0 nor between 3 and 65535`;
  }
  if (!whole(s.keepaliveSeconds, 1, 21845)) {
    return `keepalive time ${s.keepaliveSeconds} s is not between 1 and 21845`;
  }
  if (!whole(s.gracefulRestartSeconds, 1, 4095)) {
    return `graceful restart time ${s.gracefulRestartSeconds} s is not between 1 and 4095`;
  }
  if (Buffer.byteLength(s.password ?? '') > maxMd5PasswordBytes) {
    return `a TCP-MD5 password holds at most ${maxMd5PasswordBytes} octets`;
  }
  if (!whole(s.multihopTtl, 1, 255)) return `TTL ${s.multihopTtl} is not between 1 and 255`;
  if (!whole(s.ttlSecurityHops, 1, 254)) {
    return `TTL security of ${s.ttlSecurityHops} hops is not between 1 and 254`;
  }
  if (s.ttlSecurityHops !== undefined && s.multihopTtl !== undefined) {
    return 'TTL security and a multihop TTL exclude each other';
  }
  return undefined;
}

/** Read by the speaker or by a timer the next time it starts: no session depends on them. */
const liveFields: ReadonlySet<keyof Peer> = new Set([
  'openHoldSeconds',
  'connectRetrySeconds',
  'idleSeconds',
  'maxIdleSeconds',
  'sendHoldSeconds',
  'isPassive',
  'gracefulShutdown',
  'nextHop',
]);

/** The first field that cannot change under a running session, or undefined. */
export function needsReset(before: Peer, after: Peer): keyof Peer | undefined {
  const keys = Object.keys(after) as (keyof Peer)[];
  return keys.find(
    (key) => !liveFields.has(key) && JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  );
}
