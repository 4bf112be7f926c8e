import { type Family, families } from '../net/family.ts';
import type { ConfiguredPeer } from './bgp-config-map.ts';
import { bgpPeerSpec } from './bgp-peer-schema.ts';
import type { LabelSelector } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';
import { schemaProblems, withDefaults } from './schema/schema-problems.ts';

/** A router that some nodes have a session with, be it a BGPPeer object or an entry of the ConfigMap. */
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

export const defaultGracefulRestartSeconds = bgpPeerSpec.properties.gracefulRestartSeconds.default;

export function readBgpPeer(object: KubeObject): ReadBgpPeer {
  const identity = identityOf(object);
  const problems = schemaProblems(bgpPeerSpec, object.spec, 'spec');
  if (problems.length > 0) {
    return { ...identity, kind: 'malformed', problem: problems.join('; ') };
  }
  const spec = withDefaults(bgpPeerSpec, object.spec);
  const { families: wanted, nodeSelector } = spec;
  return {
    ...identity,
    kind: 'peer',
    peer: {
      name: identity.name,
      address: spec.address,
      port: spec.port,
      asn: spec.asn,
      localAsn: spec.localASN,
      ...optional('localAddress', spec.localAddress),
      ...optional('routerId', spec.routerID),
      families: families.filter((family) => wanted?.includes(family) ?? true),
      holdSeconds: spec.holdSeconds,
      ...optional('keepaliveSeconds', spec.keepaliveSeconds),
      ...optional('connectRetrySeconds', spec.connectRetrySeconds),
      ...optional('multihopTtl', spec.multihopTTL),
      ...optional('ttlSecurityHops', spec.ttlSecurityHops),
      gracefulRestartSeconds: spec.gracefulRestartSeconds,
      nodeSelectors: nodeSelector ? [nodeSelector as LabelSelector] : [],
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

function optional<K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } {
  return (value === undefined || value === null ? {} : { [key]: value }) as { [P in K]?: V };
}
