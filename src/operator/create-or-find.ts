import type { Log } from '../base/log.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Resource } from '../kube/resource.ts';
import type { KubeObject } from '../model/object.ts';

/**
 * Creating an object *is* the allocation of what it is named after, so this is
 * about knowing what became of the write:
 *
 *   made           it was made by this very call
 *   AlreadyExists  somebody made it; it is read, and may be our own: an earlier
 *                  attempt whose answer was lost
 *   unknown        it may or may not have been done. Asking again for the same
 *                  name is safe however often; so we do, and never take another
 *                  one instead while the first may exist.
 */
type CreateOrFound<T> = { kind: 'made'; raw: KubeObject } | { kind: 'found'; found: T };

interface CreateOrFind<T> {
  client: Pick<KubeClient, 'create'>;
  resource: Resource;
  body: KubeObject;
  /** What the API server has under that name now. */
  read(): Promise<T | undefined>;
  /** Throws when this process does not lead; asked before every attempt. */
  assertLeading(): void;
  log: Log;
}

const mostAttempts = 6;

export async function createOrFind<T>(of: CreateOrFind<T>): Promise<CreateOrFound<T>> {
  for (let attempt = 1; ; attempt++) {
    of.assertLeading();
    try {
      return { kind: 'made', raw: await of.client.create<KubeObject>(of.resource, of.body) };
    } catch (error) {
      if (!(error instanceof ApiError) || attempt >= mostAttempts) throw error;
      if (error.isAlreadyExists) {
        const found = await of.read();
        // Gone between the two answers: ask again.
        if (found !== undefined) return { kind: 'found', found };
      } else if (error.outcome === 'unknown') {
        const name = of.body.metadata?.name;
        of.log.debug?.(
          { object: name, error: error.message },
          'unknown whether the object was created; creating it again',
        );
        await pause(50 * 2 ** attempt);
      } else throw error;
    }
  }
}
