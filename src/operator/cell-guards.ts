import { blockName } from '../model/node-block.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Cut } from '../plan/blocks/cut.ts';
import { rivalsInGuard } from '../plan/blocks/guards.ts';
import type { BlockWriter } from './block-writer.ts';

/**
 * How an odd-sized block enters its cells, so that of two that overlap and come
 * at the same moment, from two leaders, at least one sees the other:
 *
 *   1  list yourself in the guard, and strike out those you overlap and that are
 *      not there; one fenced write
 *   2  look for them once more: one that is there came before step 1
 *   3  make the block
 *   4  look again: struck out yourself, the guard gone, or one of them there —
 *      then your own block goes, and everything is decided anew
 *
 * Who made a block before the other's step 2 is seen there. Who made it later
 * finds itself struck out, or the other's block, in its own step 4.
 */
export interface CellEntry {
  /** Overlapping blocks that were listed but not there. */
  rivals: Prefix[];
}

export class CellGuards {
  readonly #writer: BlockWriter;

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Steps 1 and 2; undefined when a cell or a rival turned out to be taken: it is known now. */
  async enter({ prefix, pool, guards }: Cut): Promise<CellEntry | undefined> {
    const rivals: Prefix[] = [];
    for (const cell of guards) {
      const outcome = await this.#writer.guard(cell, pool, prefix);
      if (outcome.kind === 'held') return undefined;
      const here = rivalsInGuard(outcome.block, prefix);
      if (await this.#isAnyThere(here)) return undefined;
      await this.#writer.relist(outcome.block, prefix, here);
      if (await this.#isAnyThere(here)) return undefined;
      rivals.push(...here);
    }
    return { rivals };
  }

  /** Step 4. */
  async isStillAlone({ prefix, guards }: Cut, { rivals }: CellEntry): Promise<boolean> {
    for (const cell of guards) {
      const guard = await this.#writer.look(cell);
      if (guard?.phase !== 'Guard' || !guard.guards.includes(prefix.toString())) return false;
      if (await this.#isAnyThere(rivalsInGuard(guard, prefix))) return false;
    }
    return !(await this.#isAnyThere(rivals));
  }

  /** For a block that exists already: it is listed, whoever else is. */
  async list({ prefix, pool, guards }: Cut): Promise<void> {
    for (const cell of guards) {
      const outcome = await this.#writer.guard(cell, pool, prefix);
      if (outcome.kind === 'ours') await this.#writer.relist(outcome.block, prefix, []);
    }
  }

  async #isAnyThere(prefixes: readonly Prefix[]): Promise<boolean> {
    const seen = new Set<string>();
    for (const prefix of prefixes) {
      const name = blockName(prefix);
      if (seen.has(name)) continue;
      seen.add(name);
      if ((await this.#writer.look(prefix)) !== undefined) return true;
    }
    return false;
  }
}
