/**
 * The path attributes of a route, as values. What is absent was not on the
 * wire. MP_REACH and MP_UNREACH are not here: they carry routes, not a route's
 * properties, and live on the UPDATE.
 */
export interface PathAttributes {
  readonly origin?: Origin;
  /** With AS4_PATH already merged in when the session has 2-octet AS numbers. */
  readonly asPath?: AsPath;
  /** The NEXT_HOP attribute as received; where a route points is on the route. */
  readonly nextHop?: string;
  readonly med?: number;
  readonly localPref?: number;
  readonly atomicAggregate?: true;
  readonly aggregator?: Aggregator;
  /** Each 32 bits: AS in the upper half (RFC 1997). */
  readonly communities?: readonly number[];
  readonly originatorId?: string;
  readonly clusterList?: readonly string[];
  /** Each 16 hex digits (RFC 4360). */
  readonly extendedCommunities?: readonly string[];
  readonly largeCommunities?: readonly LargeCommunity[];
  /** As carried; already merged into `asPath`. Ignored when encoding. */
  readonly as4Path?: AsPath;
  /** As carried; already merged into `aggregator`. Ignored when encoding. */
  readonly as4Aggregator?: Aggregator;
  readonly other?: readonly RawAttribute[];
}

export type Origin = 'igp' | 'egp' | 'incomplete';

export interface AsSegment {
  readonly type: 'seq' | 'set' | 'confed-seq' | 'confed-set';
  readonly asns: readonly number[];
}

export type AsPath = readonly AsSegment[];

export interface Aggregator {
  readonly asn: number;
  readonly address: string;
}

export interface LargeCommunity {
  readonly global: number;
  readonly local1: number;
  readonly local2: number;
}

/** An attribute we have no word for, carried as it came. */
export interface RawAttribute {
  readonly flags: number;
  readonly type: number;
  readonly value: Uint8Array;
}

export type MutableAttributes = { -readonly [K in keyof PathAttributes]: PathAttributes[K] };
