import { type Identity, identityOf, type KubeObject, textList } from './object.ts';

/** A CiliumNode, cut down to the blocks that Cilium's agent really uses. */
export interface CiliumNode extends Identity {
  podCidrs: readonly string[];
  /** Mode multi-pool: the blocks of every pool together; absent in the other modes. */
  poolCidrs?: readonly string[];
  /** Whether the list exists, be it empty: a JSON patch that tests it must know. */
  hasPodCidrs: boolean;
  hasIpam: boolean;
  hasSpec: boolean;
}

export function readCiliumNode(object: KubeObject): CiliumNode {
  const spec = object.spec as
    | { ipam?: { podCIDRs?: unknown; pools?: { allocated?: unknown } | null } | null }
    | null
    | undefined;
  const list = spec?.ipam?.podCIDRs;
  const allocated = spec?.ipam?.pools?.allocated;
  const pooled = Array.isArray(allocated)
    ? allocated.flatMap((one) => textList((one as { cidrs?: unknown } | null)?.cidrs))
    : [];
  return {
    ...identityOf(object),
    podCidrs: textList(list),
    ...(pooled.length > 0 ? { poolCidrs: pooled } : {}),
    hasPodCidrs: list !== undefined && list !== null,
    hasIpam: spec?.ipam !== undefined && spec.ipam !== null,
    hasSpec: spec !== undefined && spec !== null,
  };
}
