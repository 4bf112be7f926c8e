/**
 * Asks the API server itself whether blocks are this node's: the Node and each NodeBlock, by
 * reads that go to the store. A cache, or a watch that is silent, confirms nothing.
 */
import { describeError } from '../base/errors.ts';
import { Backoff } from '../kube/backoff.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { readNode } from '../model/node.ts';
import { type Block, blockName, readBlock } from '../model/node-block.ts';
import { nodeBlocks, nodes } from '../model/resources.ts';
import type { Prefix } from '../net/prefix.ts';
import { ownedBlocks, type TruthSource } from '../plan/node/node-truth.ts';
import type { AgentWorld } from './agent-world.ts';

interface BlockConfirmationOptions extends Pick<AgentWorld, 'client' | 'clock' | 'random' | 'log'> {
  nodeName: string;
  source: TruthSource;
  onConfirmed: () => void;
}

const timeoutMs = 10_000;

export class BlockConfirmation {
  readonly #o: BlockConfirmationOptions;
  readonly #backoff: Backoff;
  readonly #confirmedMs = new Map<string, number>();
  #validFromMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: BlockConfirmationOptions) {
    this.#o = options;
    this.#backoff = new Backoff({ baseMs: 500, capMs: 15_000, random: options.random });
  }

  /** By CIDR: when the last read began that showed it to be this node's. */
  get confirmedMs(): ReadonlyMap<string, number> {
    return this.#confirmedMs;
  }

  /** What was confirmed, or asked, before now says nothing any more. */
  forget(): void {
    this.#confirmedMs.clear();
    this.#validFromMs = this.#o.clock.monotonicMs();
  }

  /** They were in an answer to a request that began then. */
  note(prefixes: Iterable<Prefix>, askedMs: number): void {
    if (askedMs < this.#validFromMs) return;
    for (const prefix of prefixes) {
      const before = this.#confirmedMs.get(prefix.toString()) ?? Number.NEGATIVE_INFINITY;
      if (askedMs > before) this.#confirmedMs.set(prefix.toString(), askedMs);
    }
  }

  /** One question at a time; one that failed is asked again after a while. */
  ask(prefixes: readonly Prefix[], signal: AbortSignal): void {
    const askedMs = this.#o.clock.monotonicMs();
    if (this.#isAsking || prefixes.length === 0 || askedMs < this.#notBeforeMs) return;
    this.#isAsking = true;
    this.#read(prefixes, signal)
      .then(
        (confirmed) => {
          this.note(confirmed, askedMs);
          if (confirmed.length === prefixes.length) this.#backoff.reset();
          else this.#notBeforeMs = this.#o.clock.monotonicMs() + this.#backoff.nextMs();
          if (confirmed.length > 0) this.#o.onConfirmed();
        },
        (error) => {
          this.#notBeforeMs = this.#o.clock.monotonicMs() + this.#backoff.nextMs();
          const fields = { error: describeError(error) };
          this.#o.log.debug?.(fields, 'the API server has not confirmed the blocks of the node');
        },
      )
      .finally(() => {
        this.#isAsking = false;
      });
  }

  async #read(prefixes: readonly Prefix[], signal: AbortSignal): Promise<Prefix[]> {
    const { client, nodeName, source } = this.#o;
    const options = { signal, timeoutMs, retries: 0 };
    const object = await getIfThere(client, nodes, nodeName, options);
    if (object === undefined) return [];
    const found: Block[] = [];
    for (const prefix of source === 'register' ? prefixes : []) {
      const read = await getIfThere(client, nodeBlocks, blockName(prefix), options);
      const block = read && readBlock(read);
      if (block?.kind === 'block' && block.block.released === undefined) found.push(block.block);
    }
    const owned = ownedBlocks(source, readNode(object), found);
    return prefixes.filter((prefix) => owned.some((one) => one.prefix.equals(prefix)));
  }
}
