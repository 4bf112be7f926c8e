import type { KubeObject } from '../model/object.ts';
import { ApiError } from './api-error.ts';
import type { KubeClient, RequestOptions } from './client.ts';
import type { Resource } from './resource.ts';

/** The object as the API server has it now; undefined where there is none of that name. */
export function getIfThere<T = KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
  options?: RequestOptions,
): Promise<T | undefined> {
  return ifFound(client.get<T>(resource, name, options));
}

/** The answer; undefined where the API server says 404. */
export async function ifFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return undefined;
    throw error;
  }
}

/** What was created; undefined where there is one of that name already. */
export async function ifNew<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.isAlreadyExists) return undefined;
    throw error;
  }
}
