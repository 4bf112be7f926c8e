/** What Cilium is set to, where there is one: it decides which record is the truth. Read now and then. */
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Resource } from '../kube/resource.ts';
import {
  type CiliumSettings,
  ciliumConfigName,
  readCiliumConfig,
  readCiliumVersion,
} from '../model/cilium-config.ts';
import type { KubeObject } from '../model/object.ts';
import { configMaps, daemonSets } from '../model/resources.ts';

const namespace = 'kube-system';

/** Undefined: there is no Cilium, or nobody lets us look. */
export async function lookAtCilium(client: KubeClient): Promise<CiliumSettings | undefined> {
  const config = await readIfThere(client, configMaps, ciliumConfigName);
  if (config === undefined) return undefined;
  const daemon = await readIfThere(client, daemonSets, 'cilium');
  return { ...readCiliumConfig(config), version: daemon && readCiliumVersion(daemon) };
}

async function readIfThere(
  client: KubeClient,
  resource: Resource,
  name: string,
): Promise<KubeObject | undefined> {
  try {
    return await client.get<KubeObject>(resource, name, { namespace });
  } catch (error) {
    if (error instanceof ApiError && (error.isNotFound || error.status === 403)) return undefined;
    throw error;
  }
}
