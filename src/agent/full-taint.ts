import { describeError } from '../base/errors.ts';
import { ApiError } from '../kube/api-error.ts';
import { fullTaint } from '../model/keys.ts';
import type { KubeObject } from '../model/object.ts';
import { nodes } from '../model/resources.ts';
import type { AgentWorld } from './agent-world.ts';

interface Taint {
  key?: string;
  effect?: string;
}

/**
 * Our taint on a Node without free pod addresses, so that the scheduler sends no more pods
 * there (--taint-when-full). The list of taints is one field with several writers: it is
 * read, and replaced only if the Node is still as it was read.
 */
export class FullTaint {
  readonly #o: Pick<AgentWorld, 'client' | 'log'> & { nodeName: string };
  #wanted = false;
  /** What the Node has; an earlier run may have left the taint there. */
  #held: boolean | undefined;
  #writing: Promise<void> | undefined;
  #complaint = '';

  constructor(options: Pick<AgentWorld, 'client' | 'log'> & { nodeName: string }) {
    this.#o = options;
  }

  /** Best effort, one write at a time; the next declaration tries again. */
  declare(isFull: boolean): void {
    this.#wanted = isFull;
    if (this.#held === isFull) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(): Promise<void> {
    const { client, nodeName, log } = this.#o;
    const wanted = this.#wanted;
    try {
      const node = await client.get<KubeObject>(nodes, nodeName, { retries: 0 });
      const { taints = [] } = (node.spec ?? {}) as { taints?: Taint[] };
      const others = taints.filter(
        ({ key, effect }) => key !== fullTaint.key || effect !== fullTaint.effect,
      );
      if ((others.length !== taints.length) !== wanted) {
        const body = [
          { op: 'test', path: '/metadata/resourceVersion', value: node.metadata?.resourceVersion },
          { op: 'add', path: '/spec/taints', value: wanted ? [...taints, fullTaint] : others },
        ];
        await client.patch(nodes, nodeName, { type: 'json', body, retries: 0 });
        const done = wanted
          ? 'tainted the Node: no pod address is free'
          : 'removed the taint of the Node: pod addresses are free';
        log.info({ reason: wanted ? 'BlockFull' : 'AddressesFree', resource: fullTaint.key }, done);
      }
      this.#held = wanted;
      this.#complaint = '';
    } catch (error) {
      const isRace = error instanceof ApiError && (error.isConflict || error.isInvalid);
      const text = describeError(error);
      if (!isRace && text !== this.#complaint) {
        log.warn({ error: text }, `could not set the taint ${fullTaint.key} on the Node`);
      }
      this.#complaint = text;
    }
  }
}
