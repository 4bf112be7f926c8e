/** The site of the incident, from the lab's own topology: its nodes, their blocks, its routers. */
import { loadTopology } from '../../lab/topologies.ts';
import type { Topology } from '../../lab/topology.ts';
import { podCidrAnnotations } from '../../model/keys.ts';
import { siteOfTopology } from '../site-of-topology.ts';
import type { Site } from '../site-plan.ts';

export interface IncidentSite {
  topology: Topology;
  site: Site;
  /** What the second allocator wrote into Node.spec, by node. */
  secondAllocation: Readonly<Record<string, string>>;
}

export function incidentSite(): IncidentSite {
  const { topology } = loadTopology('incident');
  const site = siteOfTopology(topology);
  const held = new Map(topology.nodes.map((node) => [node.name, node.ciliumPodCidr]));
  return {
    topology,
    site: {
      ...site,
      // What a node holds when the register first looks is what it keeps.
      nodes: site.nodes.map((node) => {
        const block = held.get(node.name);
        const annotations = block && { [podCidrAnnotations.ipv4[0]]: block };
        return annotations ? { ...node, annotations } : node;
      }),
    },
    secondAllocation: Object.fromEntries(
      topology.nodes.flatMap(({ name, podCidr }) => (podCidr ? [[name, podCidr]] : [])),
    ),
  };
}
