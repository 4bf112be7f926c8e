/** Cilium's BGP objects, in the form in which people and cilium-operator write them. */
import type { KubeObject } from '../../src/model/object.ts';

const object = (kind: string, name: string, more: object, version = 'v2alpha1'): KubeObject => ({
  apiVersion: `cilium.io/${version}`,
  kind,
  metadata: { name, uid: `${kind}-${name}`, resourceVersion: '1' },
  ...more,
});

export const tor = (name: string, address: string, config: string | undefined = 'to-tor') => ({
  name,
  peerASN: 64512,
  peerAddress: address,
  ...(config === ''
    ? {}
    : { peerConfigRef: { group: 'cilium.io', kind: 'CiliumBGPPeerConfig', name: config } }),
});
type Peer = ReturnType<typeof tor>;

export const tor1 = tor('tor1', '10.0.0.250');
export const tor2 = tor('tor2', '10.0.0.251');

export const clusterConfig = (name: string, peers: Peer[], nodeSelector?: object): KubeObject =>
  object('CiliumBGPClusterConfig', name, {
    spec: {
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      bgpInstances: [{ name: 'main', localASN: 64513, peers }],
    },
    status: {
      conditions: [{ type: 'cilium.io/NoMatchingNode', status: 'False', reason: 'NoMatchingNode' }],
    },
  });

export const peerConfig = (name: string, advertise?: object, afis = ['ipv4', 'ipv6']): KubeObject =>
  object('CiliumBGPPeerConfig', name, {
    spec: {
      ebgpMultihop: 1,
      families: afis.map((afi) => ({
        afi,
        safi: 'unicast',
        ...(advertise === undefined ? {} : { advertisements: advertise }),
      })),
    },
  });

export const forTor = { matchLabels: { advertise: 'tor' } };

export const advertisement = (name: string, ...parts: object[]): KubeObject => {
  const made = object('CiliumBGPAdvertisement', name, { spec: { advertisements: parts } });
  return { ...made, metadata: { ...made.metadata, labels: { advertise: 'tor' } } };
};

export const podCidrs = { advertisementType: 'PodCIDR' };
export const ofServices = {
  advertisementType: 'Service',
  service: { addresses: ['LoadBalancerIP'] },
  selector: { matchExpressions: [{ key: 'none', operator: 'NotIn', values: ['such'] }] },
};

/**
 * As the operator makes it, and the agent fills in its status; `states` by peer. Without an
 * owner for an API server, which collects what belongs to an object that it does not have.
 */
export function nodeConfig(
  name: string,
  peers: Peer[],
  states: Record<string, string> = {},
  owner?: string,
): KubeObject {
  const made = object('CiliumBGPNodeConfig', name, {
    spec: { bgpInstances: [{ name: 'main', localASN: 64513, peers }] },
    status: {
      bgpInstances: [
        {
          name: 'main',
          localASN: 64513,
          peers: peers.map((peer) => {
            const state = states[peer.name] ?? 'established';
            const isUp = state === 'established';
            return {
              name: peer.name,
              peerASN: peer.peerASN,
              peerAddress: peer.peerAddress,
              peeringState: state,
              routeCount: [{ afi: 'ipv4', safi: 'unicast', advertised: isUp ? 1 : 0, received: 0 }],
              ...(isUp ? { establishedTime: '2026-02-01T11:00:00Z' } : {}),
            };
          }),
        },
      ],
    },
  });
  if (owner === undefined) return made;
  const controller = {
    apiVersion: 'cilium.io/v2alpha1',
    kind: 'CiliumBGPClusterConfig',
    name: owner,
    uid: `CiliumBGPClusterConfig-${owner}`,
    controller: true,
  };
  return { ...made, metadata: { ...made.metadata, ownerReferences: [controller] } };
}

export const peeringPolicy = (name: string, router: object, nodeSelector?: object): KubeObject =>
  object('CiliumBGPPeeringPolicy', name, {
    spec: {
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      virtualRouters: [
        {
          localASN: 64513,
          neighbors: [{ peerAddress: '10.0.0.250/32', peerASN: 64512 }],
          ...router,
        },
      ],
    },
  });
