/**
 * What is known of owners whose records cannot be read any more. Allocations are numbered without
 * gaps but for those that were refused, so the numbers that no record tells of are the lost ones.
 */
import type { AddressJournalDamage } from './address-journal.ts';
import type { BookRecord, UnknownOwners } from './allocation.ts';

/** Which generations the records of a journal tell of. */
export class GenerationsRead {
  #from: number | undefined;
  readonly #told = new Set<number>();
  #sequence = 0;
  /** Records that are missing behind the last allocation. */
  #lostSince = 0;

  see(record: BookRecord, sequence: number): void {
    this.#lostSince += sequence - this.#sequence - 1;
    this.#sequence = sequence;
    if (record.kind === 'all') {
      this.#from = record.nextGeneration;
      this.#told.clear();
    } else if (record.kind === 'give') {
      this.#told.add(record.allocation.generation);
      this.#lostSince = 0;
    } else if (record.kind === 'free') this.#told.add(record.generation);
  }

  /** Undefined: without the snapshot that begins the file it cannot be said. */
  missing(nextGeneration: number): number[] | undefined {
    if (this.#from === undefined) return undefined;
    const missing: number[] = [];
    // Any of those that are missing behind the last allocation may be another one.
    for (let one = this.#from; one < nextGeneration + this.#lostSince; one++) {
      if (!this.#told.has(one)) missing.push(one);
    }
    return missing;
  }
}

/** Undefined: no record of an address is lost, and nothing was unknown before. */
export function ownersUnknownAfter(
  { what, file, isEndLost }: AddressJournalDamage,
  missing: number[] | undefined,
  before: UnknownOwners | undefined,
  below: number,
): UnknownOwners | undefined {
  const found = isEndLost ? undefined : missing;
  if (found === undefined) return { what, file, below };
  if (found.length === 0) return before;
  if (before !== undefined && before.generations === undefined) return { what, file, below };
  return { what, file, below, generations: [...(before?.generations ?? []), ...found] };
}

/** Why the blocks give nothing new, and what ends it. */
export function describeUnknownOwners({ what, file, generations, blocks }: UnknownOwners): string {
  const count = generations === undefined ? 'some' : String(generations.length);
  const of = blocks === undefined ? '' : ` of ${blocks.join(', ')}`;
  return `the owners of ${count} addresses${of} are unknown, because ${what}; these blocks give no address until the node is rebooted, or, once it has no pods, ${file} is removed and the agent restarted`;
}
