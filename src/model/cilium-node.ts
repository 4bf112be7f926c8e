import { type Identity, identityOf, type KubeObject } from './object.ts';

/** A CiliumNode, cut down to the blocks that Cilium's agent really uses. */
export interface CiliumNode extends Identity {
  podCidrs: readonly string[];
  hasIpam: boolean;
  hasSpec: boolean;
}

export function readCiliumNode(object: KubeObject): CiliumNode {
  const spec = object.spec as { ipam?: { podCIDRs?: string[] } } | undefined;
  return {
    ...identityOf(object),
    podCidrs: spec?.ipam?.podCIDRs ?? [],
    hasIpam: spec?.ipam !== undefined && spec.ipam !== null,
    hasSpec: spec !== undefined && spec !== null,
  };
}
