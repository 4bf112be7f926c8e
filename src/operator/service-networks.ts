import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeObject } from '../model/object.ts';
import { serviceCidrs } from '../model/resources.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { NamedNetwork } from '../plan/pools/pool-set.ts';

/** The Service networks that the cluster itself names (Kubernetes 1.33 and newer). */
export async function readServiceNetworks(client: KubeClient): Promise<NamedNetwork[]> {
  try {
    const { items } = await client.list(serviceCidrs);
    return items.flatMap((item) => networksOf(item as KubeObject));
  } catch (error) {
    // An older cluster has no such resource, a strict one does not show it: --service-cidr says it then.
    if (error instanceof ApiError && (error.isNotFound || error.isForbidden)) return [];
    throw error;
  }
}

export function networksOf(object: KubeObject): NamedNetwork[] {
  const { cidrs = [] } = (object.spec ?? {}) as { cidrs?: string[] };
  return cidrs.flatMap((text) => {
    const prefix = parsePrefix(text);
    const name = `the Service network ${object.metadata?.name ?? ''}`.trim();
    return prefix === undefined ? [] : [{ name, prefix }];
  });
}
