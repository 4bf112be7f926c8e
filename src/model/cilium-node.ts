import { type Identity, identityOf, type KubeObject, textList } from './object.ts';

/** A CiliumNode, cut down to the blocks that Cilium's agent really uses. */
export interface CiliumNode extends Identity {
  podCidrs: readonly string[];
  /** Mode multi-pool: the blocks of every pool together; absent in the other modes. */
  poolCidrs?: readonly string[];
  /** Mode multi-pool: the same by pool. */
  pools?: ReadonlyArray<{ pool: string; cidrs: readonly string[] }>;
  /** Mode multi-pool: addresses that the agent asks for, by pool and family. */
  requested?: ReadonlyArray<{ pool: string; needed: { ipv4: number; ipv6: number } }>;
  /**
   * CiliumInternalIP: the agent's own addresses on the node. It takes them out of the
   * block that it really allocates from, whatever podCIDRs says since.
   */
  internalIps?: readonly string[];
  /** Absent when no agent has filled in its addresses: perhaps nobody runs there. */
  nodeIps?: readonly string[];
  /** spec.ipam.pools exists, be it empty. */
  hasPools?: true;
  /** What an operator could not do for the node: status.ipam.operator-status.error. */
  operatorError?: string;
  /** Whether the list exists, be it empty: a JSON patch that tests it must know. */
  hasPodCidrs: boolean;
  hasIpam: boolean;
  hasSpec: boolean;
}

interface CiliumNodeSpec {
  addresses?: unknown;
  ipam?: {
    podCIDRs?: unknown;
    pools?: { allocated?: unknown; requested?: unknown } | null;
  } | null;
}

export function readCiliumNode(object: KubeObject): CiliumNode {
  const spec = object.spec as CiliumNodeSpec | null | undefined;
  const list = spec?.ipam?.podCIDRs;
  const pools = records(spec?.ipam?.pools?.allocated).flatMap(({ pool, cidrs }) =>
    typeof pool === 'string' ? [{ pool, cidrs: textList(cidrs) }] : [],
  );
  const pooled = pools.flatMap(({ cidrs }) => cidrs);
  const requested = records(spec?.ipam?.pools?.requested).flatMap(({ pool, needed }) =>
    typeof pool === 'string' ? [{ pool, needed: neededOf(needed) }] : [],
  );
  const addresses = records(spec?.addresses);
  const ofType = (wanted: string) =>
    addresses.flatMap(({ type, ip }) => (type === wanted && typeof ip === 'string' ? [ip] : []));
  const internal = ofType('CiliumInternalIP');
  const own = ofType('InternalIP');
  const error = operatorError(object);
  return {
    ...identityOf(object),
    podCidrs: textList(list),
    ...(pooled.length > 0 ? { poolCidrs: pooled } : {}),
    ...(pools.length > 0 ? { pools } : {}),
    ...(requested.length > 0 ? { requested } : {}),
    ...(spec?.ipam?.pools ? { hasPools: true as const } : {}),
    ...(internal.length > 0 ? { internalIps: internal } : {}),
    ...(own.length > 0 ? { nodeIps: own } : {}),
    ...(error === '' ? {} : { operatorError: error }),
    hasPodCidrs: list !== undefined && list !== null,
    hasIpam: spec?.ipam !== undefined && spec.ipam !== null,
    hasSpec: spec !== undefined && spec !== null,
  };
}

function operatorError({ status }: KubeObject): string {
  const ipam = (status as { ipam?: Record<string, unknown> | null } | null | undefined)?.ipam;
  const operator = ipam?.['operator-status'] as { error?: unknown } | null | undefined;
  return typeof operator?.error === 'string' ? operator.error : '';
}

function neededOf(needed: unknown): { ipv4: number; ipv6: number } {
  const counts = (needed ?? {}) as Record<string, unknown>;
  const count = (key: string) => {
    const value = counts[key];
    return typeof value === 'number' && value > 0 ? Math.floor(value) : 0;
  };
  return { ipv4: count('ipv4-addrs'), ipv6: count('ipv6-addrs') };
}

/** Whoever may write a CiliumNode may write anything where a list belongs. */
function records(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => typeof one === 'object' && one !== null);
}
