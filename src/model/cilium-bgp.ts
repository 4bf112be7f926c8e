/**
 * Cilium's objects about BGP, cut down to who announces what to whom. Their
 * selectors are not all alike, and each is kept as Cilium means it: a nodeSelector
 * that is absent selects every node, but an absent selector of advertisements or
 * of pools selects nothing (an empty one selects everything).
 *
 * CiliumBGPNodeConfigOverride is not among them: it changes a router id, ports and
 * local addresses, never what is announced, and CiliumBGPNodeConfig shows the result.
 */
import { families as bothFamilies, type Family } from '../net/family.ts';
import { type LabelSelector, type Labels, selectorProblems, selects } from './label-selector.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';

export interface CiliumBgp {
  clusterConfigs: readonly CiliumBgpClusterConfig[];
  peerConfigs: readonly CiliumBgpPeerConfig[];
  advertisements: readonly CiliumBgpAdvertisement[];
  nodeConfigs: readonly CiliumBgpNodeConfig[];
  /** The older way, up to 1.18. Where one exists that selects a node, the others do not count. */
  peeringPolicies: readonly CiliumBgpPeeringPolicy[];
}

export interface CiliumBgpClusterConfig extends Identity {
  nodeSelector: ObjectSelector;
  peers: readonly CiliumBgpInstancePeer[];
}

export interface CiliumBgpInstancePeer {
  instance: string;
  name: string;
  /** Absent with autoDiscovery, from 1.18 on. */
  address?: string;
  /** Name of a CiliumBGPPeerConfig; without one nothing is announced to the peer. */
  peerConfig?: string;
}

export interface CiliumBgpPeerConfig extends Identity {
  families: ReadonlyArray<{ family: Family; advertisements: ObjectSelector }>;
}

export const advertisementTypes = ['PodCIDR', 'CiliumPodIPPool', 'Service'] as const;

export interface CiliumBgpAdvertisement extends Identity {
  labels: Labels;
  /** `type` is one of advertisementTypes, or one that a later Cilium has. */
  parts: ReadonlyArray<{ type: string; selector: ObjectSelector }>;
}

/** Written by cilium-operator for each node that a CiliumBGPClusterConfig selects; the agent reads no other. */
export interface CiliumBgpNodeConfig extends Identity {
  /** The CiliumBGPClusterConfig it was made from. */
  owner: string;
  peers: readonly CiliumBgpInstancePeer[];
  /** What the agent says of its sessions; none where its status reports are off. */
  sessions: readonly CiliumBgpSession[];
}

export interface CiliumBgpSession {
  instance: string;
  peer: string;
  /** `established`, `active`, …; absent: not said. */
  state?: string;
  /** Routes that were sent, by family. */
  advertised: Partial<Record<Family, number>>;
}

export interface CiliumBgpPeeringPolicy extends Identity {
  nodeSelector: ObjectSelector;
  routers: ReadonlyArray<{
    exportsPodCidr: boolean;
    pools: ObjectSelector;
    peers: ReadonlyArray<{ address: string; families: readonly Family[] }>;
  }>;
}

/** A selector with what its absence means already in it; one that is no selector selects nothing. */
export type ObjectSelector = { kind: 'all' } | { kind: 'none' } | { kind: 'by'; by: LabelSelector };

export function isSelected(selector: ObjectSelector, labels: Labels): boolean {
  return selector.kind === 'by' ? selects(selector.by, labels) : selector.kind === 'all';
}

export function readCiliumBgpClusterConfig(object: KubeObject): CiliumBgpClusterConfig {
  const spec = record(object.spec);
  return {
    ...identityOf(object),
    nodeSelector: selectorOf(spec.nodeSelector, 'all'),
    peers: instancePeers(spec.bgpInstances),
  };
}

export function readCiliumBgpPeerConfig(object: KubeObject): CiliumBgpPeerConfig {
  const families = list(record(object.spec).families).flatMap(({ afi, safi, advertisements }) =>
    isFamily(afi) && safi === 'unicast'
      ? [{ family: afi, advertisements: selectorOf(advertisements, 'none') }]
      : [],
  );
  return { ...identityOf(object), families };
}

export function readCiliumBgpAdvertisement(object: KubeObject): CiliumBgpAdvertisement {
  const parts = list(record(object.spec).advertisements).map(({ advertisementType, selector }) => ({
    type: text(advertisementType) ?? '',
    selector: selectorOf(selector, 'none'),
  }));
  return { ...identityOf(object), labels: object.metadata?.labels ?? {}, parts };
}

export function readCiliumBgpNodeConfig(object: KubeObject): CiliumBgpNodeConfig {
  const owner = list(object.metadata?.ownerReferences).find(
    ({ kind }) => kind === 'CiliumBGPClusterConfig',
  );
  const sessions = list(record(object.status).bgpInstances).flatMap(({ name: instance, peers }) =>
    list(peers).map(({ name, peeringState, routeCount }): CiliumBgpSession => {
      const state = text(peeringState);
      return {
        instance: text(instance) ?? '',
        peer: text(name) ?? '',
        ...(state === undefined ? {} : { state }),
        advertised: Object.fromEntries(
          list(routeCount).flatMap(({ afi, safi, advertised }) =>
            isFamily(afi) && safi === 'unicast' && typeof advertised === 'number'
              ? [[afi, advertised]]
              : [],
          ),
        ),
      };
    }),
  );
  return {
    ...identityOf(object),
    owner: text(owner?.name) ?? '',
    peers: instancePeers(record(object.spec).bgpInstances),
    sessions,
  };
}

export function readCiliumBgpPeeringPolicy(object: KubeObject): CiliumBgpPeeringPolicy {
  const spec = record(object.spec);
  return {
    ...identityOf(object),
    nodeSelector: selectorOf(spec.nodeSelector, 'all'),
    routers: list(spec.virtualRouters).map(({ exportPodCIDR, podIPPoolSelector, neighbors }) => ({
      exportsPodCidr: exportPodCIDR === true,
      pools: selectorOf(podIPPoolSelector, 'none'),
      peers: list(neighbors).flatMap(({ peerAddress, families }) => {
        // Written with its length by this kind: `10.0.0.1/32`.
        const address = text(peerAddress)?.split('/')[0];
        const named = list(families).flatMap(({ afi }) => (isFamily(afi) ? [afi] : []));
        const carried = named.length > 0 ? named : [...bothFamilies];
        return address === undefined ? [] : [{ address, families: carried }];
      }),
    })),
  };
}

function instancePeers(instances: unknown): CiliumBgpInstancePeer[] {
  return list(instances).flatMap(({ name: instance, peers }) =>
    list(peers).map(({ name, peerAddress, peerConfigRef }) => {
      const address = text(peerAddress)?.trim();
      const peerConfig = text(record(peerConfigRef).name);
      return {
        instance: text(instance) ?? '',
        name: text(name) ?? '',
        ...(address === undefined ? {} : { address }),
        ...(peerConfig === undefined ? {} : { peerConfig }),
      };
    }),
  );
}

function selectorOf(value: unknown, absent: 'all' | 'none'): ObjectSelector {
  if (value === undefined || value === null) return { kind: absent };
  if (selectorProblems(value, '').length > 0) return { kind: 'none' };
  return { kind: 'by', by: value as LabelSelector };
}

const isFamily = (afi: unknown): afi is Family => afi === 'ipv4' || afi === 'ipv6';

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whoever may write such an object may write anything where a list or a map belongs. */
function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(record) : [];
}
