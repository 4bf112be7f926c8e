import type { KubeObject } from '../model/object.ts';
import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';

/** The object as the API server has it now; undefined where there is none of that name. */
export async function getIfThere(
  client: KubeClient,
  resource: Parameters<KubeClient['get']>[0],
  name: string,
): Promise<KubeObject | undefined> {
  try {
    return await client.get<KubeObject>(resource, name);
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return undefined;
    throw error;
  }
}
