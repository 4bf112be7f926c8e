/**
 * Where the agent's knowledge comes from: the API server; while that does not
 * answer, what this run knew last; and at a start, after a grace, what is on disk.
 * Whatever is acted upon is on disk first.
 */
import { join } from 'node:path';
import { describeError } from '../base/errors.ts';
import { silentLimitMs } from '../kube/watch-times.ts';
import type { RegisterView } from '../plan/node/block-use.ts';
import type { AgentCaches } from './agent-caches.ts';
import type { AgentSettings } from './agent-settings.ts';
import type { AgentState } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { heldText, type Knowledge, type Memory } from './knowledge.ts';
import { MemoryFile } from './memory-file.ts';

interface KnowledgeSourceOptions extends Pick<AgentWorld, 'files' | 'clock' | 'log'> {
  caches: AgentCaches;
  settings: AgentSettings;
  /** What was last known of other nodes is written so often; of this one at once. */
  memoryEveryMs: number;
}

/** What to act upon, and how the agent is. Without knowledge there is nothing to act upon. */
export interface Situation {
  knowledge: Knowledge | undefined;
  state: AgentState;
  register: RegisterView | undefined;
  /** As far as it is known. */
  isNodeThere: boolean;
  /** No cache has been silent for longer than `silentLimitMs`. */
  isHeard: boolean;
}

export class KnowledgeSource {
  readonly #o: KnowledgeSourceOptions;
  readonly #file: MemoryFile;
  /** What the last run knew; taken up only if the API server does not answer. */
  #remembered: Knowledge | undefined;
  #isGraceOver = false;
  /** Why nothing is known from the API server yet. */
  #away = 'it has not answered yet';
  #last: Knowledge | undefined;
  #savedOwn = '';
  #savedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: KnowledgeSourceOptions) {
    this.#o = options;
    const { files, settings, log } = options;
    this.#file = new MemoryFile(files, join(settings.stateFolder, 'last-known.json'), log);
  }

  /** What an earlier run of this very node left on disk. */
  async load(): Promise<Memory | undefined> {
    const memory = await this.#file.load();
    if (memory?.knowledge.node.name !== this.#o.settings.nodeName) return undefined;
    this.#remembered = memory.knowledge;
    return memory;
  }

  /** The API server had its time to answer: from now on what is on disk will do. */
  endGrace(): void {
    this.#isGraceOver = true;
  }

  /** Why the API server is of no use yet; whether that is news to someone who knows nothing. */
  setAway(detail: string): boolean {
    this.#away = detail;
    return this.#last === undefined;
  }

  /** Undefined as long as nothing is known at all. */
  situation(): Situation | undefined {
    const view = this.#o.caches.view();
    if (view.kind === 'known') {
      this.#last = view.knowledge;
      return {
        knowledge: view.knowledge,
        state: this.#stateOf(view.knowledge),
        register: view.register,
        isNodeThere: true,
        isHeard: this.#isHeard,
      };
    }
    if (view.kind === 'no-node') {
      const before = this.#last ?? this.#remembered;
      return {
        knowledge: before && view.orphaned(before),
        state: { isReady: false, reason: 'WaitingForNode', detail: view.detail },
        register: view.register,
        isNodeThere: false,
        isHeard: this.#isHeard,
      };
    }
    this.#last ??= this.#isGraceOver ? this.#remembered : undefined;
    if (this.#last === undefined) return undefined;
    const detail = `working from the last known state; the API server is away: ${this.#away}`;
    const isReady = this.#last.truth.kind === 'blocks';
    return {
      knowledge: this.#last,
      state: { isReady, reason: 'WorkingFromMemory', detail },
      register: undefined,
      isNodeThere: true,
      isHeard: false,
    };
  }

  /** Whether what is acted upon from here on is on disk. */
  async save(memory: Memory): Promise<boolean> {
    const { knowledge, releases, held, hasReported, drain } = memory;
    const { node, truth, peers, advertisements, services } = knowledge;
    const { resourceVersion: _, ...stable } = node;
    const cidrs = truth.blocks.map(({ prefix }) => `${prefix}`);
    const own = JSON.stringify([
      stable,
      truth,
      cidrs,
      peers,
      advertisements,
      services,
      releases,
      held?.map(heldText),
      hasReported,
      drain,
    ]);
    const nowMs = this.#o.clock.monotonicMs();
    if (own === this.#savedOwn && nowMs - this.#savedAtMs < this.#o.memoryEveryMs) return true;
    try {
      await this.#file.save(memory);
    } catch (error) {
      this.#o.log.error(
        { error: describeError(error) },
        'the last known state could not be written to disk',
      );
      return false;
    }
    this.#savedOwn = own;
    this.#savedAtMs = nowMs;
    return true;
  }

  get #isHeard(): boolean {
    return this.#o.caches.silentMs() <= silentLimitMs;
  }

  #stateOf({ truth }: Knowledge): AgentState {
    if (truth.kind === 'incomplete') {
      return { isReady: false, reason: truth.reason, detail: truth.detail };
    }
    if (!this.#isHeard) {
      const seconds = Math.round(this.#o.caches.silentMs() / 1000);
      const detail = `the API server has sent nothing for ${seconds} s; working from the last known state`;
      return { isReady: true, reason: 'WorkingFromMemory', detail };
    }
    const cidrs = truth.blocks.map(({ prefix }) => `${prefix}`).join(', ');
    return { isReady: true, reason: 'AgentReady', detail: `serving pods from ${cidrs}` };
  }
}
