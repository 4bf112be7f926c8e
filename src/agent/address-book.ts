/**
 * The address book: which owner holds which pod address, on disk before anyone
 * is told.
 *
 *   request ─▶ plan chooses ─▶ memory takes ─▶ journal ─▶ answer
 *                                   ▲             │ cannot be written
 *                                   └── undo ◀────┘
 *
 * Memory changes first, so that two requests in one batch cannot be given the
 * same address; nobody hears of it before the journal has it. Answers that
 * change nothing (the same owner again, a list) wait for the journal too: what
 * they show may still be refused.
 *
 * Expiry and rest are measured with the monotonic clock, and stored as time
 * from a moment that records of age move on. As long as the machine is not booted
 * anew, a restart knows that moment and costs nothing; a boot can only lengthen
 * them, by at most the time since the last record of age. The clock on the wall
 * has no say at all.
 */
import { join } from 'node:path';
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Address, parseAddress } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import {
  type PodAddressRefusal,
  PodAddressSpace,
  type PodBlockUse,
} from '../plan/pod-address/pod-address.ts';
import type { PodBlock } from '../plan/pod-address/pod-address-block.ts';
import {
  type Allocation,
  type Anchor,
  type Attachment,
  type BookRecord,
  readAllocation,
  writeAllocation,
} from './allocation.ts';
import type { DurableFiles } from './durable-files.ts';
import { Journal } from './journal.ts';

export interface AddressRequest {
  owner: string;
  families: readonly Family[];
  requested?: readonly Address[];
  /** Freed again after so long, unless claimed. */
  expiryMs?: number;
  attachment?: Attachment;
}

export type AllocateAnswer =
  | { kind: 'allocated'; allocation: Allocation; isNew: boolean }
  | {
      kind: 'refused';
      reason: PodAddressRefusal | 'OwnerHoldsOther';
      detail: string;
      retryAfterMs?: number;
    };

export type ReleaseAnswer =
  | { kind: 'released'; allocation: Allocation }
  | { kind: 'absent' }
  | { kind: 'refused'; reason: 'NotOwner' | 'StaleGeneration' | 'PodAttached'; detail: string };

export interface AddressBookOptions {
  files: DurableFiles;
  folder: string;
  clock: Clock;
  /** Without it a restart is to times what a boot is. */
  boot?: BootClock;
  /** How long a freed address is kept from others. */
  restMs: number;
  compactAboveBytes?: number;
  log?: Log;
}

/** How much a boot can lengthen an expiry or a rest. */
const ageEveryMs = 10_000;

export class AddressBook {
  readonly #clock: Clock;
  readonly #boot: BootClock | undefined;
  readonly #restMs: number;
  readonly #journal: Journal;
  readonly #space = new PodAddressSpace();
  readonly #byOwner = new Map<string, Allocation>();
  readonly #byAddress = new Map<string, Allocation>();
  readonly #byGeneration = new Map<number, Allocation>();
  /** Few, whatever the book holds: an ADD is claimed in milliseconds. */
  readonly #unclaimed = new Set<Allocation>();
  /** Before this none of them expires: asked on every allocation, so it must cost nothing. */
  #soonestMs = Number.POSITIVE_INFINITY;
  /** Of nobody in the book, and yet not to be given. */
  #keptBack = new Map<string, Address>();
  #nextGeneration = 1;
  /** Times in records are counted from here, and a record of age moves it on for all of them. */
  #agedAtMs: number;
  /** What the file says of that moment; while it is read. */
  #anchor: Anchor | undefined;

  private constructor(options: AddressBookOptions) {
    const { files, folder, clock, boot, restMs, compactAboveBytes, log } = options;
    this.#clock = clock;
    this.#boot = boot;
    this.#restMs = restMs;
    this.#agedAtMs = clock.monotonicMs();
    this.#journal = new Journal({
      files,
      path: join(folder, 'addresses.journal'),
      snapshot: () => this.#snapshot(),
      ...(compactAboveBytes === undefined ? {} : { compactAboveBytes }),
      ...(log === undefined ? {} : { log }),
    });
  }

  /** The caller holds the folder's lock. */
  static async open(options: AddressBookOptions): Promise<AddressBook> {
    const book = new AddressBook(options);
    await book.#journal.open((record) => book.#replay(record as BookRecord));
    book.#catchUp();
    return book;
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  setBlocks(blocks: readonly PodBlock[], reserved: readonly Prefix[] = []): void {
    this.#space.setBlocks(blocks, reserved);
  }

  get families(): Family[] {
    return this.#space.families;
  }

  gatewayOf(address: Address): Address | undefined {
    return this.#space.gatewayOf(address);
  }

  use(): PodBlockUse[] {
    return this.#space.use(this.#clock.monotonicMs());
  }

  /** What an owner holds as far as memory knows; the journal may not have it yet. */
  find(owner: string): Allocation | undefined {
    return this.#byOwner.get(owner);
  }

  findByAddress(address: Address): Allocation | undefined {
    return this.#byAddress.get(address.toString());
  }

  blockOf(address: Address): Prefix | undefined {
    return this.#space.blockOf(address);
  }

  /** Everything, as far as memory knows. */
  remembered(): Iterable<Allocation> {
    return this.#byOwner.values();
  }

  /** All addresses that somebody has whom the book does not know: nobody else gets them. */
  keepBack(all: readonly Address[]): void {
    const before = this.#keptBack;
    this.#keptBack = new Map(all.map((address) => [address.toString(), address]));
    for (const [text, address] of before) {
      if (!this.#keptBack.has(text) && !this.#byAddress.has(text)) this.#space.forget(address);
    }
    for (const [text, address] of this.#keptBack) {
      if (!this.#byAddress.has(text)) this.#space.take(address);
    }
  }

  async list(): Promise<Allocation[]> {
    const all = [...this.#byOwner.values()];
    await this.#journal.append(undefined);
    return all;
  }

  async allocate(request: AddressRequest): Promise<AllocateAnswer> {
    const { answer, written } = this.begin(request);
    await written;
    return answer;
  }

  /**
   * `allocate` for one who has something to do meanwhile. The address is taken;
   * nobody may hear of it before `written`, which rejects if it was not to be.
   */
  begin(request: AddressRequest): { answer: AllocateAnswer; written: Promise<void> } {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const held = this.#byOwner.get(request.owner);
    if (held !== undefined) {
      return { answer: again(held, request), written: this.#journal.append(undefined) };
    }
    const choice = this.#space.choose(request, nowMs);
    if (choice.kind === 'refused') return { answer: choice, written: Promise.resolve() };
    const allocation: Allocation = {
      generation: this.#nextGeneration++,
      owner: request.owner,
      addresses: choice.addresses,
      ...(request.attachment === undefined ? {} : { attachment: request.attachment }),
      expiresAtMs: request.expiryMs === undefined ? undefined : nowMs + request.expiryMs,
    };
    if (request.expiryMs !== undefined) this.#grow(nowMs);
    this.#put(allocation);
    const record: BookRecord = {
      kind: 'give',
      allocation: writeAllocation(allocation, this.#agedAtMs),
    };
    const written = this.#journal.append(record, () => {
      this.#remove(allocation);
      for (const address of allocation.addresses) this.#space.forget(address);
    });
    return { answer: { kind: 'allocated', allocation, isNew: true }, written };
  }

  /** From now on it does not expire. False if the owner holds nothing (any more). */
  async claim(owner: string): Promise<boolean> {
    const allocation = this.#unexpired(owner);
    if (allocation === undefined) return false;
    const claim = this.#claiming(allocation);
    await this.#journal.append(claim?.record, claim?.undo);
    return true;
  }

  /** The same, and on disk a moment later: for one who can tell again after a crash. */
  claimSoon(owner: string): boolean {
    const allocation = this.#unexpired(owner);
    if (allocation === undefined) return false;
    const claim = this.#claiming(allocation);
    if (claim !== undefined) this.#journal.note(claim.record, claim.undo);
    return true;
  }

  #unexpired(owner: string): Allocation | undefined {
    this.#expire(this.#clock.monotonicMs());
    return this.#byOwner.get(owner);
  }

  /** Nothing to write if it was claimed before. */
  #claiming(allocation: Allocation): { record: BookRecord; undo: () => void } | undefined {
    const { expiresAtMs, generation } = allocation;
    if (expiresAtMs === undefined) return undefined;
    this.#keep(allocation);
    const undo = () => {
      allocation.expiresAtMs = expiresAtMs;
      this.#watchExpiry(allocation);
    };
    return { record: { kind: 'claim', generation }, undo };
  }

  /** Frees what the owner holds; nothing to free is fine. */
  async release(owner: string): Promise<ReleaseAnswer> {
    const allocation = this.#byOwner.get(owner);
    if (allocation === undefined) {
      await this.#journal.append(undefined);
      return { kind: 'absent' };
    }
    await this.#free(allocation);
    return { kind: 'released', allocation };
  }

  /**
   * Frees the allocation of which this is an address, if the one who asks is its
   * owner. A pod's interface must go before its address does, so what CNI gave
   * only CNI takes back.
   */
  async releaseAddress(
    address: Address,
    fence: { owner: string; generation?: number },
  ): Promise<ReleaseAnswer> {
    const allocation = this.#byAddress.get(address.toString());
    if (allocation === undefined) {
      await this.#journal.append(undefined);
      return { kind: 'absent' };
    }
    if (allocation.owner !== fence.owner) {
      const detail = `${address} belongs to ${allocation.owner}, not to ${fence.owner}`;
      return { kind: 'refused', reason: 'NotOwner', detail };
    }
    if (fence.generation !== undefined && fence.generation !== allocation.generation) {
      const detail = `${address} was given to ${fence.owner} again since; that is generation ${allocation.generation}, not ${fence.generation}`;
      return { kind: 'refused', reason: 'StaleGeneration', detail };
    }
    if (allocation.attachment !== undefined) {
      const { containerId, ifname } = allocation.attachment;
      const detail = `${address} is on ${ifname} of container ${containerId}`;
      return { kind: 'refused', reason: 'PodAttached', detail };
    }
    await this.#free(allocation);
    return { kind: 'released', allocation };
  }

  /**
   * Called every few seconds. Frees what expired, except attachments: their
   * interface must go first, so they are returned for the sweep.
   */
  tick(): Allocation[] {
    const nowMs = this.#clock.monotonicMs();
    const overdue = this.#expire(nowMs);
    if (this.#unclaimed.size > 0 || this.#space.resting(nowMs).length > 0) this.#grow(nowMs);
    return overdue;
  }

  /** Moves the moment on that times are counted from, on disk before any that is counted from it. */
  #grow(nowMs: number): void {
    const ms = nowMs - this.#agedAtMs;
    if (ms < ageEveryMs) return;
    this.#agedAtMs = nowMs;
    this.#journal.note({ kind: 'age', ms } satisfies BookRecord, () => {
      this.#agedAtMs -= ms;
    });
  }

  /** What went by while no agent was there, if it was the same boot of the machine. */
  #catchUp(): void {
    const boot = this.#boot;
    if (boot === undefined) return;
    const openedMs = this.#agedAtMs;
    const sinceBootMs = boot.sinceBootMs() - (this.#clock.monotonicMs() - openedMs);
    if (this.#anchor?.boot === boot.bootId) {
      const passedMs = Math.max(0, sinceBootMs - this.#anchor.ms);
      this.#age(passedMs, openedMs);
      this.#agedAtMs = openedMs - passedMs;
      return;
    }
    const anchor = { kind: 'anchor', boot: boot.bootId, ms: sinceBootMs } satisfies BookRecord;
    // Refused, it is missing, and the next start is to times what a boot is.
    this.#journal.note(anchor, () => undefined);
  }

  #expire(nowMs: number): Allocation[] {
    const overdue: Allocation[] = [];
    if (nowMs < this.#soonestMs) return overdue;
    this.#soonestMs = Number.POSITIVE_INFINITY;
    for (const allocation of this.#unclaimed) {
      const { expiresAtMs = Number.POSITIVE_INFINITY, attachment } = allocation;
      if (expiresAtMs > nowMs || attachment !== undefined) {
        this.#soonestMs = Math.min(this.#soonestMs, expiresAtMs);
      }
      if (expiresAtMs > nowMs) continue;
      if (attachment === undefined) this.#free(allocation).catch(() => undefined);
      else overdue.push(allocation);
    }
    return overdue;
  }

  async #free(allocation: Allocation): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#grow(nowMs);
    this.#remove(allocation);
    for (const address of allocation.addresses) {
      this.#space.release(address, nowMs, this.#restMs);
    }
    const restMs = nowMs - this.#agedAtMs + this.#restMs;
    const record: BookRecord = { kind: 'free', generation: allocation.generation, restMs };
    await this.#journal.append(record, () => this.#put(allocation));
  }

  #put(allocation: Allocation): void {
    this.#byOwner.set(allocation.owner, allocation);
    this.#byGeneration.set(allocation.generation, allocation);
    this.#watchExpiry(allocation);
    for (const address of allocation.addresses) {
      this.#byAddress.set(address.toString(), allocation);
      this.#space.take(address);
      this.#space.setCursor(address);
    }
  }

  #remove(allocation: Allocation): void {
    this.#byOwner.delete(allocation.owner);
    this.#byGeneration.delete(allocation.generation);
    this.#unclaimed.delete(allocation);
    for (const address of allocation.addresses) this.#byAddress.delete(address.toString());
  }

  #watchExpiry(allocation: Allocation): void {
    if (allocation.expiresAtMs === undefined) return;
    this.#unclaimed.add(allocation);
    this.#soonestMs = Math.min(this.#soonestMs, allocation.expiresAtMs);
  }

  #keep(allocation: Allocation): void {
    allocation.expiresAtMs = undefined;
    this.#unclaimed.delete(allocation);
  }

  #snapshot(): BookRecord {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = nowMs - this.#agedAtMs;
    const boot = this.#boot;
    return {
      kind: 'all',
      nextGeneration: this.#nextGeneration,
      cursors: this.#space.cursors.map(String),
      allocations: [...this.#byOwner.values()].map((held) => writeAllocation(held, this.#agedAtMs)),
      resting: this.#space
        .resting(nowMs)
        .map(({ address, forMs }) => ({ address: address.toString(), forMs: sinceMs + forMs })),
      ...(boot && { anchor: { boot: boot.bootId, ms: boot.sinceBootMs() - sinceMs } }),
    };
  }

  #replay(record: BookRecord): void {
    // When the file was opened, for all of it.
    const nowMs = this.#agedAtMs;
    switch (record.kind) {
      case 'all':
        this.#nextGeneration = record.nextGeneration;
        this.#anchor = record.anchor;
        for (const allocation of record.allocations) this.#put(readAllocation(allocation, nowMs));
        for (const { address, forMs } of record.resting) {
          this.#space.rest(parseAddress(address)!, nowMs + forMs);
        }
        for (const cursor of record.cursors) this.#space.setCursor(parseAddress(cursor)!);
        return;
      case 'give':
        this.#nextGeneration = Math.max(this.#nextGeneration, record.allocation.generation + 1);
        this.#put(readAllocation(record.allocation, nowMs));
        return;
      case 'claim': {
        const allocation = this.#byGeneration.get(record.generation);
        if (allocation !== undefined) this.#keep(allocation);
        return;
      }
      case 'free': {
        const allocation = this.#byGeneration.get(record.generation);
        if (allocation === undefined) return;
        this.#remove(allocation);
        for (const address of allocation.addresses) {
          this.#space.release(address, nowMs, record.restMs);
        }
        return;
      }
      case 'age':
        this.#age(record.ms, nowMs);
        if (this.#anchor) this.#anchor = { ...this.#anchor, ms: this.#anchor.ms + record.ms };
        return;
      case 'anchor':
        this.#anchor = { boot: record.boot, ms: record.ms };
    }
  }

  #age(ms: number, nowMs: number): void {
    for (const allocation of this.#unclaimed) {
      if (allocation.expiresAtMs !== undefined) allocation.expiresAtMs -= ms;
      this.#watchExpiry(allocation);
    }
    for (const { address, forMs } of this.#space.resting(nowMs)) {
      this.#space.rest(address, nowMs + forMs - ms);
    }
  }
}

/** The same owner asks again, perhaps because it never heard the answer. */
function again(held: Allocation, request: AddressRequest): AllocateAnswer {
  const families = held.addresses.map((address) => address.family);
  const isSame =
    families.length === request.families.length &&
    request.families.every((family) => families.includes(family)) &&
    (request.requested ?? []).every((asked) => held.addresses.some((own) => own.equals(asked)));
  if (isSame) return { kind: 'allocated', allocation: held, isNew: false };
  const detail = `${request.owner} already holds ${held.addresses.join(' and ')}, which is not what it asks for now`;
  return { kind: 'refused', reason: 'OwnerHoldsOther', detail };
}
