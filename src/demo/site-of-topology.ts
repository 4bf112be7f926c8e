/** A lab's topology as a site of the demo: the same nodes, routers, pools and peers, without root. */
import { peerObjects, poolObject } from '../lab/cluster/objects.ts';
import type { Topology } from '../lab/topology.ts';
import type { KubeObject } from '../model/object.ts';
import { rackLabel, type Site, type SitedRouter } from './site-plan.ts';

export function siteOfTopology(topology: Topology): Site {
  const routers = topology.routers.flatMap(({ name, address, asn }): SitedRouter[] => {
    const peer = topology.peers.find(({ router }) => router === name);
    return asn === undefined || peer === undefined
      ? []
      : [{ name, address, asn, nodeAsn: peer.asn }];
  });
  return {
    nodes: topology.nodes.map(({ name, subnet, addresses, labels }) => ({
      name,
      addresses,
      labels: { [rackLabel]: subnet, ...labels },
    })),
    routers,
    pools: poolsOf(topology),
    peers: peerObjects(topology),
  };
}

/** What the lab's operator has in flags is a pool that selects every node here. */
function poolsOf({ pools, clusterPool }: Topology): KubeObject[] {
  const objects = pools.map(poolObject);
  if (clusterPool === undefined) return objects;
  const { cidr, maskSize } = clusterPool;
  const blockSize = { [cidr.includes(':') ? 'ipv6' : 'ipv4']: maskSize };
  return [...objects, poolObject({ name: 'cluster-pool', spec: { cidrs: [cidr], blockSize } })];
}
