import { blockName } from '../model/node-block.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Cut } from '../plan/blocks/cut.ts';
import { rivalsInGuard } from '../plan/blocks/guards.ts';
import type { BlockWriter } from './block-writer.ts';

/**
 * How an odd-sized block enters its cells, so that of two that overlap and come
 * at the same moment, from two leaders, at most one is ever made, wherever either
 * of them dies:
 *
 *   1  read the guard. Those it lists that you overlap are rivals: take their names,
 *      each by a guard of its own, unless your own name is taken so already. A rival
 *      that is there came before; one that is not can no longer be made
 *   2  list yourself in the guard and strike the rivals out; one fenced write
 *   3  make the block: whoever read you in the guard has taken your name
 *   4  look again: struck out yourself, the guard gone, or a rival there (its name
 *      was free again, because this process slept) — then your own block goes, and
 *      everything is decided anew
 *
 * Not to be "optimised" away: looking for a rival in step 1 instead of taking its
 * name. It may be made right after the look by a leader that dies before its step 4.
 */
interface CellEntry {
  /** Overlapping blocks that were listed but not there. */
  rivals: Prefix[];
}

export class CellGuards {
  readonly #writer: BlockWriter;

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Steps 1 and 2; undefined when a cell, a rival or our own name turned out to be taken: it is known now. */
  async enter({ prefix, pool, guards }: Cut): Promise<CellEntry | undefined> {
    const rivals: Prefix[] = [];
    for (const cell of guards) {
      const outcome = await this.#writer.guard(cell, pool, prefix);
      if (outcome.kind === 'held') return undefined;
      const here = rivalsInGuard(outcome.block, prefix);
      // After reading the guard: who is listed there has taken our name before that.
      if (here.length > 0 && (await this.#writer.look(prefix)) !== undefined) return undefined;
      for (const rival of here) {
        const name = await this.#writer.guard(rival, pool, prefix);
        if (name.kind === 'held') return undefined;
        await this.#writer.relist(name.block, prefix, []);
      }
      await this.#writer.relist(outcome.block, prefix, here);
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
      const found = await this.#writer.look(prefix);
      if (found !== undefined && found.phase !== 'Guard') return true;
    }
    return false;
  }
}
