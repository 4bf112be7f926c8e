/**
 * What memory holds of the address book, what records do to it, and the record of all of it.
 * Nothing here waits or writes.
 */
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import { parseAddress } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import { PodAddressSpace, type PodBlockUse } from '../plan/pod-address/pod-address.ts';
import type { PodBlock } from '../plan/pod-address/pod-address-block.ts';
import type { AddressJournalDamage } from './address-journal.ts';
import {
  type Allocation,
  type BookRecord,
  readAllocation,
  type UnknownOwners,
  writeAllocation,
} from './allocation.ts';
import { AllocationIndex } from './allocation-index.ts';
import { BookTime } from './book-time.ts';
import { type GenerationsRead, ownersUnknownAfter } from './unknown-owners.ts';

/** So many were at most given by records that are lost: none is used twice. */
const generationsSkipped = 1_000_000;

export class BookState {
  readonly space = new PodAddressSpace();
  readonly allocations = new AllocationIndex();
  readonly time: BookTime;
  nextGeneration = 1;
  /** Owners that damage has taken, as long as their addresses may be in use. */
  unknown: UnknownOwners | undefined;
  readonly #clock: Clock;
  #blocks: readonly PodBlock[] = [];
  #reserved: readonly Prefix[] = [];

  constructor(clock: Clock, boot: BootClock | undefined) {
    this.#clock = clock;
    this.time = new BookTime(clock, boot);
  }

  setBlocks(blocks: readonly PodBlock[], reserved: readonly Prefix[]): void {
    this.#blocks = blocks;
    this.#reserved = reserved;
    this.#useBlocks();
  }

  setUnknown(unknown: UnknownOwners | undefined): void {
    this.unknown = unknown;
    this.#useBlocks();
  }

  /** Those that owners may have addresses of whom nobody knows give nothing new. */
  #useBlocks(): void {
    const inDoubt = new Set(this.unknown?.blocks);
    const blocks = this.#blocks.map((block) =>
      inDoubt.has(block.prefix.toString()) ? { ...block, isDraining: true } : block,
    );
    this.space.setBlocks(blocks, this.#reserved);
  }

  use(): PodBlockUse[] {
    return this.space.use(this.#clock.monotonicMs()).map((use) => {
      // A block that somebody may have an address of is not empty: it must not be given back.
      const unknown = this.unknownOwnersIn(use.prefix);
      const { pods, allocated } = use;
      return { ...use, pods: pods + unknown, allocated: allocated + BigInt(unknown) };
    });
  }

  /** As many as may have an address of the block, at least one if any may. */
  unknownOwnersIn(prefix: Prefix): number {
    const { blocks, generations } = this.unknown ?? {};
    return blocks?.includes(prefix.toString()) ? (generations?.length ?? 1) : 0;
  }

  /** Records were lost, of the machine as it runs now: what they may have given is not given again. */
  lose(damage: AddressJournalDamage, generations: GenerationsRead): void {
    const missing = generations.missing(this.nextGeneration);
    this.nextGeneration += generationsSkipped;
    this.unknown = ownersUnknownAfter(damage, missing, this.unknown, this.nextGeneration);
    // That one was claimed may be among what is lost.
    for (const allocation of this.allocations.values()) {
      this.allocations.setExpiry(allocation, undefined);
    }
  }

  put(allocation: Allocation): void {
    this.allocations.add(allocation);
    for (const address of allocation.addresses) {
      this.space.take(address);
      this.space.setCursor(address);
    }
  }

  /** The whole of it as one record. */
  snapshot(): BookRecord {
    const nowMs = this.#clock.monotonicMs();
    const { originMs } = this.time;
    const sinceMs = nowMs - originMs;
    const anchor = this.time.anchor(nowMs);
    return {
      kind: 'all',
      nextGeneration: this.nextGeneration,
      cursors: this.space.cursors.map(String),
      allocations: [...this.allocations.values()].map((held) => writeAllocation(held, originMs)),
      resting: this.space
        .resting(nowMs)
        .map(({ address, forMs }) => ({ address: address.toString(), forMs: sinceMs + forMs })),
      ...(anchor && { anchor }),
      ...(this.unknown && { unknown: this.unknown }),
    };
  }

  /** As when the record was written. */
  replay(record: BookRecord): void {
    // When the file was opened, for all of it.
    const nowMs = this.time.originMs;
    switch (record.kind) {
      case 'all':
        this.nextGeneration = record.nextGeneration;
        this.unknown = record.unknown;
        this.time.readAnchor(record.anchor);
        for (const allocation of record.allocations) this.put(readAllocation(allocation, nowMs));
        for (const { address, forMs } of record.resting) {
          this.space.rest(parseAddress(address)!, nowMs + forMs);
        }
        for (const cursor of record.cursors) this.space.setCursor(parseAddress(cursor)!);
        return;
      case 'give':
        this.nextGeneration = Math.max(this.nextGeneration, record.allocation.generation + 1);
        this.#takeOver(readAllocation(record.allocation, nowMs));
        return;
      case 'claim': {
        const allocation = this.allocations.ofGeneration(record.generation);
        if (allocation !== undefined) this.allocations.setExpiry(allocation, undefined);
        return;
      }
      case 'free': {
        const allocation = this.allocations.ofGeneration(record.generation);
        if (allocation === undefined) return;
        this.allocations.remove(allocation);
        for (const address of allocation.addresses) {
          this.space.release(address, nowMs, record.restMs);
        }
        return;
      }
      case 'age':
        this.age(record.ms, nowMs);
        this.time.readAge(record.ms);
        return;
      case 'anchor':
        this.time.readAnchor({ boot: record.boot, ms: record.ms });
        return;
      case 'unknown':
        this.unknown = record.unknown ?? undefined;
    }
  }

  /** Whoever had the address, or was the same owner, has freed what it had: that record was lost. */
  #takeOver(allocation: Allocation): void {
    const { owner, addresses } = allocation;
    const before = addresses.map((one) => this.allocations.ofAddress(one.toString()));
    for (const over of new Set([...before, this.allocations.ofOwner(owner)])) {
      if (over === undefined) continue;
      this.allocations.remove(over);
      for (const address of over.addresses) this.space.forget(address);
    }
    this.put(allocation);
  }

  age(ms: number, nowMs: number): void {
    this.allocations.age(ms);
    for (const { address, forMs } of this.space.resting(nowMs)) {
      this.space.rest(address, nowMs + forMs - ms);
    }
  }
}
