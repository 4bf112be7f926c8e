import type { KubeObject } from '../model/object.ts';
import type { SeenPod } from '../plan/doctor/evidence.ts';

/** Pods that hold addresses of their node's blocks: not the host's network, not ended. */
export function readPods(objects: readonly KubeObject[]): SeenPod[] {
  return objects.flatMap((object): SeenPod[] => {
    if (object.kind !== 'Pod') return [];
    const spec = (object.spec ?? {}) as { nodeName?: string; hostNetwork?: boolean };
    const status = (object.status ?? {}) as {
      phase?: string;
      podIP?: string;
      podIPs?: Array<{ ip?: string }>;
    };
    if (spec.hostNetwork === true || spec.nodeName === undefined) return [];
    if (status.phase === 'Succeeded' || status.phase === 'Failed') return [];
    const several = (status.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
    const addresses = several.length > 0 ? several : [status.podIP ?? ''].filter(Boolean);
    const { namespace = 'default', name = '' } = object.metadata ?? {};
    return [{ name: `${namespace}/${name}`, node: spec.nodeName, addresses }];
  });
}

/** Whether kube-controller-manager gives out Node.spec.podCIDRs, if its Pod was seen. */
export function readControllerManager(objects: readonly KubeObject[]): boolean | undefined {
  for (const { kind, metadata, spec } of objects) {
    if (kind !== 'Pod' || !metadata?.name?.startsWith('kube-controller-manager')) continue;
    const { containers = [] } = (spec ?? {}) as {
      containers?: Array<{ command?: string[]; args?: string[] }>;
    };
    const words = containers.flatMap(({ command = [], args = [] }) => [...command, ...args]);
    const flag = words.find((word) => word.startsWith('--allocate-node-cidrs'));
    // Its default is false.
    return flag === '--allocate-node-cidrs' || flag === '--allocate-node-cidrs=true';
  }
  return undefined;
}
