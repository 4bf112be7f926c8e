import { type Identity, identityOf, type KubeObject } from './object.ts';

/** A Pod, as far as addresses and allocators go. */
export interface ClusterPod extends Identity {
  namespace: string;
  node: string;
  /** Its addresses out of its node's blocks; none on the host's network, or when it has ended. */
  addresses: readonly string[];
  /** It is being deleted: its address may be another pod's before it is gone. */
  isEnding?: true;
  /** Of kube-controller-manager: whether it gives out Node.spec.podCIDRs. */
  allocatesNodeCidrs?: boolean;
}

export function readPod(object: KubeObject): ClusterPod {
  const {
    spec = {},
    status = {},
    metadata,
  } = object as {
    spec?: PodSpec | null;
    status?: PodStatus | null;
    metadata?: KubeObject['metadata'];
  };
  const identity = identityOf(object);
  return {
    ...identity,
    namespace: metadata?.namespace ?? 'default',
    node: spec?.nodeName ?? '',
    addresses: holdsAddresses(spec, status) ? addressesOf(status) : [],
    ...(metadata?.deletionTimestamp ? { isEnding: true as const } : {}),
    ...(identity.name.startsWith('kube-controller-manager')
      ? { allocatesNodeCidrs: allocates(spec) }
      : {}),
  };
}

interface PodSpec {
  nodeName?: string;
  hostNetwork?: boolean;
  containers?: Array<{ command?: string[]; args?: string[] }>;
}

interface PodStatus {
  phase?: string;
  podIP?: string;
  podIPs?: Array<{ ip?: string }>;
}

function holdsAddresses(spec: PodSpec | null, status: PodStatus | null): boolean {
  if (spec?.hostNetwork === true || spec?.nodeName === undefined) return false;
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

function addressesOf(status: PodStatus | null): string[] {
  const several = (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
  return several.length > 0 ? several : [status?.podIP ?? ''].filter(Boolean);
}

/** The flag's default is false. */
function allocates(spec: PodSpec | null): boolean {
  const words = (spec?.containers ?? []).flatMap(({ command = [], args = [] }) => [
    ...command,
    ...args,
  ]);
  const flag = words.find((word) => word.startsWith('--allocate-node-cidrs'));
  return flag === '--allocate-node-cidrs' || flag === '--allocate-node-cidrs=true';
}
