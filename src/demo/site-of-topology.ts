/** A lab's topology as a site of the demo: the same nodes, routers, pools and peers, without root. */
import type { Topology } from '../lab/topology.ts';
import { apiVersion } from '../model/keys.ts';
import type { KubeObject } from '../model/object.ts';
import { families } from '../net/family.ts';
import { peerOf, rackLabel, type Site, type SitedNode, type SitedRouter } from './site-plan.ts';

export function siteOfTopology(topology: Topology): Site {
  const nodes = topology.nodes.map(
    ({ name, subnet, addresses, labels }): SitedNode => ({
      name,
      rack: subnet,
      addresses: families.flatMap((family) => addresses[family] ?? []),
      labels: { 'kubernetes.io/hostname': name, [rackLabel]: subnet, ...labels },
    }),
  );
  const routers = topology.routers.flatMap(({ name, address, asn }): SitedRouter[] => {
    const peer = topology.peers.find(({ router }) => router === name);
    return asn === undefined || peer === undefined
      ? []
      : [{ name, address, asn, nodeAsn: peer.asn }];
  });
  const peers = topology.peers.flatMap(({ router, nodeSelector }) => {
    const sited = routers.find(({ name }) => name === router);
    return sited === undefined ? [] : [peerOf(sited, nodeSelector && { nodeSelector })];
  });
  return { nodes, routers, peers, pools: poolsOf(topology) };
}

/** What the lab's operator has in flags is a pool that selects every node here. */
function poolsOf({ pools, clusterPool }: Topology): KubeObject[] {
  const objects = pools.map(({ name, spec }) => pool(name, spec));
  if (clusterPool === undefined) return objects;
  const { cidr, maskSize } = clusterPool;
  const family = cidr.includes(':') ? 'ipv6' : 'ipv4';
  return [...objects, pool('cluster-pool', { cidrs: [cidr], blockSize: { [family]: maskSize } })];
}

function pool(name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  return { apiVersion, kind: 'IPPool', metadata: { name }, spec };
}
