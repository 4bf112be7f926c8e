/**
 * Takes pods away: the interface first, then the address. On a full disk the
 * second is not possible, and must not keep the pod from ending: it may be the
 * end of that pod that makes room. The address then stays with the pod that is
 * gone, where nobody else gets it, until the sweep can free it.
 */
import { CadastreError, describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { AddressBook } from '../address-book.ts';
import { wiringFailed } from './cni-error.ts';

interface RemovedPod {
  owner: string;
  hostIfName: string;
}

interface PodRemovalOptions {
  book: AddressBook;
  driver: Pick<Kernel, 'unwirePod'>;
  log: Log;
}

export class PodRemoval {
  readonly #o: PodRemovalOptions;
  /** Generations whose pod is gone, and whose end is not on disk yet. */
  readonly #unfreed = new Set<number>();

  constructor(options: PodRemovalOptions) {
    this.#o = options;
  }

  /** All of it, or an error. */
  async remove(pod: RemovedPod, isIpam: boolean): Promise<void> {
    try {
      if (!isIpam) await this.#o.driver.unwirePod(pod);
    } catch (error) {
      throw wiringFailed(error);
    }
    const generation = this.#o.book.find(pod.owner)?.generation;
    try {
      await this.#o.book.release(pod.owner);
      if (generation !== undefined) this.#unfreed.delete(generation);
    } catch (error) {
      if (generation !== undefined && isNotWritten(error)) this.#unfreed.add(generation);
      throw error;
    }
  }

  /** As much of it as the disk allows. */
  async removeForNow(pod: RemovedPod, isIpam: boolean): Promise<void> {
    try {
      await this.remove(pod, isIpam);
    } catch (error) {
      if (!isNotWritten(error)) throw error;
      const fields = { owner: pod.owner, error: describeError(error) };
      this.#o.log.warn(fields, 'the pod is gone; its address is freed when that can be written');
    }
  }

  /** Whether the pod is gone, and only the disk does not know. */
  isUnfreed(generation: number): boolean {
    return this.#unfreed.has(generation);
  }
}

function isNotWritten(error: unknown): boolean {
  return error instanceof CadastreError && error.code === 'STATE_NOT_WRITTEN';
}
