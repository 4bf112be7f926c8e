/**
 * What damage of the journal has taken from the address book: it is said, nothing that a lost record
 * may have given is given again, and what the kernel shows of it is taken back into the book. It ends
 * with a reboot, with the removal of the damaged file, or when the kernel has shown all of it.
 */
import type { Log } from '../base/log.ts';
import type { PodBlock } from '../plan/pod-address/pod-address-block.ts';
import type { AddressJournal, AddressJournalDamage } from './address-journal.ts';
import {
  type Allocation,
  type BookRecord,
  type UnknownOwners,
  writeAllocation,
} from './allocation.ts';
import type { BookState } from './book-state.ts';
import { describeUnknownOwners, type GenerationsRead } from './unknown-owners.ts';

export class LostOwners {
  readonly #state: BookState;
  readonly #journal: AddressJournal;
  readonly #log: Log;

  constructor(state: BookState, journal: AddressJournal, log: Log) {
    this.#state = state;
    this.#journal = journal;
    this.#log = log;
  }

  /** The journal was read, and this was wrong with it. */
  survive(damage: AddressJournalDamage, generations: GenerationsRead, wasBooted: boolean): void {
    const { what, file, lost, isEndLost } = damage;
    const hasLost = lost > 0 || isEndLost;
    const kept = [...this.#state.allocations.values()].length;
    const fields = { reason: 'StateDamaged', path: file, detail: { lost, kept } };
    if (!hasLost) {
      this.#log.warn(fields, `${what}; everything was read from the second copy of each record`);
      return;
    }
    this.#log.error(
      fields,
      `${what}; ${kept} owners of addresses could be read, others may be lost`,
    );
    if (wasBooted) return;
    this.#state.lose(damage, generations);
  }

  /** No pod of then runs any more. */
  end(why: string): void {
    this.#set(undefined, why);
  }

  /** The blocks that the addresses are of: those the node has when it hears of its blocks first. */
  nameBlocks(blocks: readonly PodBlock[]): void {
    const unknown = this.#state.unknown;
    if (unknown === undefined || unknown.blocks !== undefined || blocks.length === 0) return;
    const named = { ...unknown, blocks: blocks.map(({ prefix }) => prefix.toString()) };
    this.#set(named);
    this.#log.error({ reason: 'AddressOwnersUnknown' }, describeUnknownOwners(named));
  }

  /** See AddressBook. */
  adopt(found: Omit<Allocation, 'expiresAtMs'>): boolean {
    const { unknown, allocations } = this.#state;
    const { generation, owner, addresses } = found;
    if (unknown === undefined || unknown.generations?.includes(generation) === false) return false;
    const isHeld = addresses.some((one) => allocations.ofAddress(one.toString()));
    if (isHeld || allocations.ofOwner(owner) || allocations.ofGeneration(generation)) return false;
    const allocation: Allocation = { ...found, expiresAtMs: undefined };
    this.#state.nextGeneration = Math.max(this.#state.nextGeneration, generation + 1);
    this.#state.put(allocation);
    this.#note({
      kind: 'give',
      allocation: writeAllocation(allocation, this.#state.time.originMs),
    });
    const generations = unknown.generations?.filter((one) => one !== generation);
    if (generations?.length === 0) this.#set(undefined, 'the kernel shows all of them');
    else this.#set({ ...unknown, ...(generations && { generations }) });
    return true;
  }

  /**
   * Its end may be among the records that are lost, and its address somebody else's. What CNI gave
   * is not asked for again; the kernel shows whether it is there.
   */
  mayBeFreed({ generation, attachment }: Allocation): boolean {
    return (
      this.#state.unknown !== undefined && generation < this.#state.unknown.below && !attachment
    );
  }

  /** Why something is refused, and the damage with it, which may be the cause. */
  doubtful(detail: string): string {
    return this.#state.unknown === undefined
      ? detail
      : `${detail}; ${describeUnknownOwners(this.#state.unknown)}`;
  }

  #set(unknown: UnknownOwners | undefined, why = ''): void {
    this.#state.setUnknown(unknown);
    this.#note({ kind: 'unknown', unknown: unknown ?? null });
    if (unknown === undefined) {
      this.#log.warn(
        { reason: 'AddressOwnersUnknown' },
        `no owner of an address is unknown any more: ${why}`,
      );
    }
  }

  /** Refused, it is found out again by the next start. */
  #note(record: BookRecord): void {
    this.#journal.note(record, () => undefined);
  }
}
