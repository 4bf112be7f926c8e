import type { CacheHandler, Kept } from '../kube/object-cache.ts';

/**
 * One handler that is many. A cache is made before those who listen to it: they
 * are added afterwards, before it is started, and hear every change in the order
 * in which they were added.
 */
export class HandlerList<T extends Kept> implements CacheHandler<T> {
  readonly #handlers: CacheHandler<T>[] = [];

  add(handler: CacheHandler<T> | undefined): void {
    if (handler !== undefined) this.#handlers.push(handler);
  }

  onPut(next: T, prev: T | undefined): void {
    for (const handler of this.#handlers) handler.onPut(next, prev);
  }

  onDelete(last: T, how: 'observed' | 'missing'): void {
    for (const handler of this.#handlers) handler.onDelete(last, how);
  }
}
