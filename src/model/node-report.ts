import type { Family } from '../net/family.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';

/**
 * NodeReport: what a node's agent states about itself. The operator reads two
 * things: how many addresses the node needs (cluster-pool-v2), and which blocks
 * the agent has emptied and gives back. It is named after the node and fenced by
 * the node's uid.
 */
export interface NodeReport extends Identity {
  nodeUid: string;
  neededAddresses: Readonly<Partial<Record<Family, number>>>;
  releases: readonly string[];
}

export function readNodeReport(object: KubeObject): NodeReport {
  const spec = (object.spec ?? {}) as {
    nodeUID?: string;
    neededAddresses?: Partial<Record<Family, number>>;
    releases?: string[];
  };
  return {
    ...identityOf(object),
    nodeUid: spec.nodeUID ?? '',
    neededAddresses: spec.neededAddresses ?? {},
    releases: spec.releases ?? [],
  };
}
