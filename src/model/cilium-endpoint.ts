import { type Identity, identityOf, type KubeObject } from './object.ts';

/** A CiliumEndpoint: an address that Cilium's agent has given to a pod, and on which node. */
export interface CiliumEndpoint extends Identity {
  namespace: string;
  /** The address of the node it lives on; empty until the agent has written it. */
  nodeIp: string;
  addresses: readonly string[];
}

export function readCiliumEndpoint(object: KubeObject): CiliumEndpoint {
  const { status, metadata } = object as {
    status?: { networking?: Networking | null } | null;
    metadata?: KubeObject['metadata'];
  };
  const { addressing, node } = status?.networking ?? {};
  const pairs = Array.isArray(addressing) ? addressing : [];
  return {
    ...identityOf(object),
    namespace: metadata?.namespace ?? 'default',
    nodeIp: typeof node === 'string' ? node : '',
    addresses: pairs.flatMap((pair) =>
      [pair?.ipv4, pair?.ipv6].filter((text): text is string => typeof text === 'string'),
    ),
  };
}

interface Networking {
  node?: unknown;
  addressing?: Array<{ ipv4?: unknown; ipv6?: unknown } | null> | null;
}
