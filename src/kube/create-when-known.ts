import { ApiError } from './api-error.ts';
import { pause } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { ifNew } from './get-if-there.ts';
import type { Resource } from './resource.ts';

/** How long a custom resource may take to be registered and served. */
const withinMs = 60_000;

/**
 * Creates an object of a kind that somebody is registering at this moment.
 * Undefined where it is there already, as after an answer that was lost.
 */
export async function createWhenKnown<T>(
  client: KubeClient,
  resource: Resource,
  object: object,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await ifNew(client.create<T>(resource, object, { signal }));
    } catch (error) {
      const isUnknown = error instanceof ApiError && error.isNotFound;
      if (!isUnknown || signal?.aborted || performance.now() > deadlineMs) throw error;
      await pause(50, signal);
    }
  }
}
