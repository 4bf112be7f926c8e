/**
 * Every setting of a BGP peer, once. A row says what kind of value it takes, its
 * limits and default, whether a change needs a new session, and what it is called
 * in each way in:
 *
 *   object     spec of a BGPPeer, in JSON
 *   file       the file of `cadastre bgp speak`; `a.b` is key b of the mapping a
 *   configMap  the ConfigMap of MetalLB 0.12 and Cilium 1.11
 *
 * A row without a name in one of them cannot be set there. The TypeScript types
 * below, the readers of all three (read-peer-settings.ts, bgp-peer.ts), the CRD's
 * properties (bgp-peer-schema.ts), the speaker's defaults and its decision whether
 * to reset a session all follow from this table; peer-limits.ts holds values to it.
 *
 * To add a setting: a row here, the code that obeys it and its test, and its line
 * in docs/bgp-speak.md (a test compares).
 */
import { type Family, families } from '../net/family.ts';

export type PeerSettingKind =
  | 'text'
  | 'address'
  /** Written like an IPv4 address (RFC 4271 §4.2). */
  | 'routerId'
  | 'integer'
  /** Whole seconds; a duration such as 1m30s in YAML. */
  | 'seconds'
  /** Seconds with fractions; for tests and programs, not for people. */
  | 'timer'
  | 'flag'
  | 'families'
  /** An address for each family. */
  | 'nextHops';

export interface PeerSetting {
  readonly kind: PeerSettingKind;
  readonly description: string;
  readonly minimum?: number;
  readonly maximum?: number;
  /** 0 is allowed beside `minimum` to `maximum`. */
  readonly orZero?: true;
  readonly maxOctets?: number;
  readonly isRequired?: true;
  readonly default?: number | boolean | readonly Family[];
  /** The default of peers of the cluster (BGPPeer, ConfigMap), where it is another one. */
  readonly clusterDefault?: number;
  /** A change is taken over by a running session; all others need a new one. */
  readonly isLive?: true;
  readonly object?: string;
  readonly file?: string;
  readonly configMap?: string;
}

const asn = { kind: 'integer', minimum: 1, maximum: 0xffffffff } as const;
const port = { kind: 'integer', minimum: 1, maximum: 65535 } as const;

export const peerSettings = {
  name: {
    kind: 'text',
    description: 'What announcements and reports call the peer. Absent: its address.',
    file: 'name',
  },
  address: {
    kind: 'address',
    description: 'The router.',
    isRequired: true,
    object: 'address',
    file: 'address',
    configMap: 'peer-address',
  },
  port: {
    ...port,
    description: 'Its port.',
    default: 179,
    object: 'port',
    file: 'port',
    configMap: 'peer-port',
  },
  asn: {
    ...asn,
    description: "The router's AS.",
    isRequired: true,
    object: 'asn',
    file: 'asn',
    configMap: 'peer-asn',
  },
  localAsn: {
    ...asn,
    description: "The nodes' AS; the same as asn for iBGP.",
    isRequired: true,
    object: 'localASN',
    file: 'local-asn',
    configMap: 'my-asn',
  },
  localAddress: {
    kind: 'address',
    description: "The node's end of the session. Absent: as the kernel chooses.",
    object: 'localAddress',
    file: 'local-address',
    configMap: 'source-address',
  },
  localPort: {
    ...port,
    description: 'The port to connect from. Absent: as the kernel chooses.',
    file: 'local-port',
  },
  routerId: {
    kind: 'routerId',
    description: "The BGP identifier. Absent: the node's first IPv4 InternalIP.",
    object: 'routerID',
    file: 'router-id',
    configMap: 'router-id',
  },
  isPassive: {
    kind: 'flag',
    description: 'Waits for the router to connect and never connects itself.',
    default: false,
    isLive: true,
    file: 'passive',
  },
  families: {
    kind: 'families',
    description: 'What is announced. Absent: both.',
    default: families,
    object: 'families',
    file: 'families',
  },
  // RFC 4271 §4.2: 0, or at least 3; §10 suggests 90. A node that dies without a word stays in the
  // routers' tables for so long (decision 32).
  holdSeconds: {
    kind: 'seconds',
    description: '0 switches the hold timer off.',
    minimum: 3,
    maximum: 65535,
    orZero: true,
    default: 9,
    object: 'holdSeconds',
    file: 'hold-time',
    configMap: 'hold-time',
  },
  // A third of the longest hold time.
  keepaliveSeconds: {
    kind: 'seconds',
    description: 'Absent: a third of holdSeconds.',
    minimum: 1,
    maximum: 21845,
    object: 'keepaliveSeconds',
    file: 'keepalive-time',
    configMap: 'keepalive-time',
  },
  // RFC 4271 §10 suggests 120; a router that reboots should not wait two minutes for its nodes.
  connectRetrySeconds: {
    kind: 'seconds',
    description: 'Between two attempts to connect.',
    minimum: 1,
    maximum: 65535,
    default: 10,
    isLive: true,
    object: 'connectRetrySeconds',
    file: 'connect-retry',
  },
  // RFC 4271 §8.2.2 suggests four minutes.
  openHoldSeconds: {
    kind: 'timer',
    description: 'How long a connected peer may take to send OPEN.',
    default: 240,
    isLive: true,
  },
  idleSeconds: {
    kind: 'timer',
    description: 'The first wait after a session that failed; doubles up to maxIdleSeconds.',
    default: 1,
    isLive: true,
  },
  maxIdleSeconds: {
    kind: 'timer',
    description: 'The longest wait after sessions that failed.',
    default: 60,
    isLive: true,
  },
  sendHoldSeconds: {
    kind: 'timer',
    description:
      'How long the peer may take none of our octets (RFC 9687). Absent: 480, or twice holdSeconds.',
    isLive: true,
  },
  password: {
    kind: 'text',
    description: 'TCP-MD5 (RFC 2385).',
    maxOctets: 80,
    file: 'password',
    configMap: 'password',
  },
  multihopTtl: {
    kind: 'integer',
    description: 'For a router some hops away.',
    minimum: 1,
    maximum: 255,
    object: 'multihopTTL',
    file: 'multihop-ttl',
  },
  ttlSecurityHops: {
    kind: 'integer',
    description: 'GTSM (RFC 5082): the router is at most so many hops away.',
    minimum: 1,
    maximum: 254,
    object: 'ttlSecurityHops',
    file: 'ttl-security-hops',
  },
  // Three times the slowest restart of an agent that was measured (decision 32).
  gracefulRestartSeconds: {
    kind: 'seconds',
    description:
      'How long the router may keep the routes while the agent restarts. 0 switches it off.',
    minimum: 0,
    maximum: 4095,
    default: 0,
    clusterDefault: 20,
    object: 'gracefulRestartSeconds',
  },
  gracefulShutdown: {
    kind: 'flag',
    description: 'Asks the router to prefer other paths before we leave (RFC 8326).',
    default: false,
    isLive: true,
    file: 'graceful-shutdown',
  },
  nextHop: {
    kind: 'nextHops',
    description: "Next hop of announcements that name none. Absent: the session's own address.",
    isLive: true,
    file: 'next-hop',
  },
  hasMultiprotocol: {
    kind: 'flag',
    description: 'Capability 1 (RFC 4760); off for a router that cannot bear it.',
    default: true,
    file: 'capabilities.multiprotocol',
  },
  hasRouteRefresh: {
    kind: 'flag',
    description: 'Capabilities 2 and 70 (RFC 2918, RFC 7313).',
    default: true,
    file: 'capabilities.route-refresh',
  },
  hasAs4: {
    kind: 'flag',
    description: 'Capability 65: AS numbers of four octets (RFC 6793).',
    default: true,
    file: 'capabilities.as4',
  },
  hasExtendedNextHop: {
    kind: 'flag',
    description: 'Capability 5 (RFC 8950). Absent: where IPv4 routes go over an IPv6 session.',
    file: 'capabilities.extended-next-hop',
  },
  hasExtendedMessage: {
    kind: 'flag',
    description: 'Capability 6: messages of up to 65,535 octets (RFC 8654).',
    default: false,
    file: 'capabilities.extended-message',
  },
  // A router whose hold timer expires sends a NOTIFICATION: with the N-bit it keeps the routes of a
  // node that died for the restart time on top.
  hasRestartNotification: {
    kind: 'flag',
    description: 'Capability 64, N-bit (RFC 8538): routes are kept over a NOTIFICATION too.',
    default: false,
    file: 'capabilities.restart-notification',
  },
  hasAddPathReceive: {
    kind: 'flag',
    description: 'Takes several paths of one prefix from the peer (RFC 7911).',
    default: false,
  },
} as const satisfies Readonly<Record<string, PeerSetting>>;

type Table = typeof peerSettings;
export type PeerSettingName = keyof Table;

interface KindValues {
  text: string;
  address: string;
  routerId: string;
  integer: number;
  seconds: number;
  timer: number;
  flag: boolean;
  families: readonly Family[];
  nextHops: Readonly<Partial<Record<Family, string>>>;
}

export type PeerSettingValue<Name extends PeerSettingName> = KindValues[Table[Name]['kind']];

type NamesWith<Mark> = {
  [Name in PeerSettingName]: Table[Name] extends Mark ? Name : never;
}[PeerSettingName];
type Required = NamesWith<{ isRequired: true }>;
type Sure = Required | NamesWith<{ default: unknown }>;

/** A peer as somebody configured it; what is absent has its default. */
export type PeerSettings = { [Name in Required]: PeerSettingValue<Name> } & {
  [Name in Exclude<PeerSettingName, Required>]?: PeerSettingValue<Name> | undefined;
};

/** The same with the table's defaults in place. */
export type CompletePeerSettings = { readonly [Name in Sure]: PeerSettingValue<Name> } & {
  readonly [Name in Exclude<PeerSettingName, Sure>]: PeerSettingValue<Name> | undefined;
};

/** The rows, for whoever goes over all of them. */
export const peerSettingRows = Object.entries(peerSettings) as readonly (readonly [
  PeerSettingName,
  PeerSetting,
])[];

export function withPeerDefaults(settings: PeerSettings): CompletePeerSettings {
  return Object.fromEntries(
    peerSettingRows.map(([name, row]) => [name, settings[name] ?? row.default]),
  ) as unknown as CompletePeerSettings;
}

/** The first setting that differs and cannot change under a running session. */
export function settingThatNeedsReset(
  before: CompletePeerSettings,
  after: CompletePeerSettings,
): PeerSettingName | undefined {
  return peerSettingRows.find(
    ([name, { isLive }]) =>
      isLive !== true && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )?.[0];
}
