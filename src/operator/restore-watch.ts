import type { Log } from '../base/log.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { isOlder } from '../kube/resource-version.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReport } from '../model/node-report.ts';
import { aliveAgents } from '../plan/blocks/awaited-agents.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { BlockCacheHandlers } from './block-caches.ts';

/** What this replica knew when it found that the API server's store is another one. */
export interface StoreMemory {
  readonly reports: ReadonlyMap<string, NodeReport>;
  readonly blocks: readonly Block[];
}

interface RestoreWatchOptions {
  register: Register;
  log: Log;
  /** It leads and has adopted everything: nobody else deletes NodeBlocks. */
  mayAssign(): boolean;
}

/**
 * Notices that the API server's store went back in time: an etcd that was restored
 * from a backup. Any one of these tells:
 *
 *   - a cache had to start over, because the server has forgotten what it once sent
 *   - an object is listed in an older version than the one that was seen
 *   - a NodeBlock is missing from a list although this leader, the only one who
 *     deletes NodeBlocks, did not delete it. (A restore that raises the revision
 *     shows no older version; neither does a hand, which is as good a reason to ask.)
 *
 * It listens to the caches before anybody else does, so at the first sign the
 * register still holds what was known before. The memory is kept until a leader has
 * settled the loss (take-over); a replica that stands by keeps it until it leads.
 */
export class RestoreWatch {
  readonly handlers: BlockCacheHandlers;
  /** Set once, before the caches start. */
  onNoticed: (() => void) | undefined;
  readonly #o: RestoreWatchOptions;
  #memory: StoreMemory | undefined;
  #notices = 0;

  constructor(options: RestoreWatchOptions) {
    this.#o = options;
    this.handlers = {
      pools: this.#handler(),
      nodes: this.#handler(),
      blocks: {
        ...this.#handler<Block>(),
        onDelete: ({ name }, how) => {
          if (how === 'missing' && options.mayAssign()) {
            this.noticed(`NodeBlock ${name} is gone, and this leader did not delete it`);
          }
        },
      },
      reports: this.#handler(),
      ciliumNodes: this.#handler(),
    };
  }

  /** What was known before, as long as the loss is not settled. */
  get memory(): StoreMemory | undefined {
    return this.#memory;
  }

  /** Goes up with every sign. */
  get notices(): number {
    return this.#notices;
  }

  noticed(how: string): void {
    this.#notices += 1;
    if (this.#memory === undefined) {
      const { register, log } = this.#o;
      this.#memory = { reports: aliveAgents(register), blocks: [...register.blocks.values()] };
      const message = `the API server's store went back in time: ${how}; no block is assigned before agents have reported what they use`;
      log.warn({ reason: 'RestoredFromBackup' }, message);
    }
    this.onNoticed?.();
  }

  /** Agents were heard and their blocks adopted, for all signs up to that count. */
  settled(notices: number): void {
    if (notices === this.#notices) this.#memory = undefined;
  }

  #handler<T extends Kept>(): CacheHandler<T> {
    return {
      onPut: (next, prev) => {
        if (prev === undefined || !isOlder(next.resourceVersion, prev.resourceVersion)) return;
        const { name, resourceVersion } = next;
        this.noticed(
          `${name} is of version ${resourceVersion}, and was of ${prev.resourceVersion} before`,
        );
      },
      onDelete: () => {},
    };
  }
}
