import { type Family, families } from '../net/family.ts';
import type { ConfiguredPeer } from './bgp-config-map.ts';
import type { LabelSelector } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';

/** A router that some nodes speak with, be it a BGPPeer object or an entry of the ConfigMap. */
export interface BgpPeer {
  name: string;
  address: string;
  port: number;
  asn: number;
  localAsn: number;
  localAddress?: string;
  routerId?: string;
  families: readonly Family[];
  holdSeconds: number;
  keepaliveSeconds?: number;
  connectRetrySeconds?: number;
  multihopTtl?: number;
  ttlSecurityHops?: number;
  /** 0: off. */
  gracefulRestartSeconds: number;
  password?: string;
  /** For nodes that match any of them; none means every node. */
  nodeSelectors: readonly LabelSelector[];
}

export type ReadBgpPeer = Identity &
  ({ kind: 'peer'; peer: BgpPeer } | { kind: 'malformed'; problem: string });

export const defaultGracefulRestartSeconds = 120;

export function readBgpPeer(object: KubeObject): ReadBgpPeer {
  const identity = identityOf(object);
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const { address, asn, localASN } = spec;
  if (typeof address !== 'string' || typeof asn !== 'number' || typeof localASN !== 'number') {
    return { ...identity, kind: 'malformed', problem: 'spec needs address, asn and localASN' };
  }
  const number = (key: string) =>
    typeof spec[key] === 'number' ? (spec[key] as number) : undefined;
  const text = (key: string) => (typeof spec[key] === 'string' ? (spec[key] as string) : undefined);
  const wanted: unknown[] = Array.isArray(spec.families) ? spec.families : [];
  const served = families.filter((family) => wanted.includes(family));
  const selector = spec.nodeSelector as LabelSelector | undefined;
  return {
    ...identity,
    kind: 'peer',
    peer: {
      name: identity.name,
      address,
      port: number('port') ?? 179,
      asn,
      localAsn: localASN,
      ...optional('localAddress', text('localAddress')),
      ...optional('routerId', text('routerID')),
      families: served.length > 0 ? served : families,
      holdSeconds: number('holdSeconds') ?? 90,
      ...optional('keepaliveSeconds', number('keepaliveSeconds')),
      ...optional('connectRetrySeconds', number('connectRetrySeconds')),
      ...optional('multihopTtl', number('multihopTTL')),
      ...optional('ttlSecurityHops', number('ttlSecurityHops')),
      gracefulRestartSeconds: number('gracefulRestartSeconds') ?? defaultGracefulRestartSeconds,
      nodeSelectors: selector === undefined || selector === null ? [] : [selector],
    },
  };
}

/** An entry of the ConfigMap has no name; its address is what its users call it. */
export function peerOfConfig(configured: ConfiguredPeer): BgpPeer {
  const { peerAddress, peerPort, peerAsn, myAsn, sourceAddress, routerId, password } = configured;
  return {
    name: peerAddress,
    address: peerAddress,
    port: peerPort,
    asn: peerAsn,
    localAsn: myAsn,
    ...optional('localAddress', sourceAddress),
    ...optional('routerId', routerId),
    families,
    holdSeconds: configured.holdSeconds,
    ...(configured.keepaliveSeconds > 0 ? { keepaliveSeconds: configured.keepaliveSeconds } : {}),
    gracefulRestartSeconds: defaultGracefulRestartSeconds,
    ...optional('password', password),
    // ebgp-multihop needs nothing from us: the kernel's own TTL of 64 reaches the peer.
    nodeSelectors: configured.nodeSelectors.map(({ matchLabels, matchExpressions }) => ({
      matchLabels: { ...matchLabels },
      matchExpressions: matchExpressions.map(({ key, operator, values }) => ({
        key,
        operator,
        values: [...values],
      })),
    })),
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
