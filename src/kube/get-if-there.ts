import type { KubeObject } from '../model/object.ts';
import { ApiError } from './api-error.ts';
import type { KubeClient, RequestOptions } from './client.ts';
import type { Resource } from './resource.ts';

/** The object as the API server has it now; undefined where there is none of that name. */
export async function getIfThere(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
  options?: RequestOptions,
): Promise<KubeObject | undefined> {
  try {
    return await client.get<KubeObject>(resource, name, options);
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return undefined;
    throw error;
  }
}
