import type { Log } from '../base/log.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import { isOlder } from '../kube/resource-version.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReport } from '../model/node-report.ts';
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
}

/**
 * Notices that the API server's store went back in time: an etcd that was restored
 * from a backup. Any one of these tells:
 *
 *   - a cache had to start over, because the server has forgotten what it once sent
 *   - an object is listed in an older version than the one that was seen
 *   - a NodeBlock in use, or a NodeReport, is missing from a list: blocks cool before
 *     they are deleted, and a report is deleted after its last block. (A restore that
 *     raises the revision shows no older version; neither does a hand, nor a replica
 *     that was blind for longer than a cool-down, and asking costs them little.)
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
        onDelete: ({ name, phase }, how) => {
          if (how === 'missing' && (phase === 'Active' || phase === 'Draining')) {
            this.noticed(`NodeBlock ${name}, which was in use, is gone`);
          }
        },
      },
      reports: {
        ...this.#handler<NodeReport>(),
        onDelete: ({ name, uses = [] }, how) => {
          if (how === 'missing' && uses.length > 0) {
            this.noticed(`NodeReport ${name}, whose agent used blocks, is gone`);
          }
        },
      },
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
      // Also of Nodes that are gone by now: the cache of Nodes may be the first to know.
      this.#memory = { reports: new Map(register.reports), blocks: [...register.blocks.values()] };
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
