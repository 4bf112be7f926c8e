/**
 * The address book: which owner holds which pod address, on disk before anyone
 * hears of it.
 *
 *   request ─▶ plan chooses ─▶ memory takes ─▶ journal ─▶ answer
 *                                   ▲             │ cannot be written
 *                                   └── undo ◀────┘
 *
 * Memory changes first, so that two requests in one batch cannot be given the
 * same address; nobody hears of it before the journal has it. Answers that
 * change nothing (the same owner again, a list) wait for the journal too: what
 * they show may still be refused.
 * Expiry and rest survive a restart; see book-time.
 *
 * What damage of the journal may have taken is not given again: see lost-owners.
 */
import { join } from 'node:path';
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Address } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { PodBlockUse } from '../plan/pod-address/pod-address.ts';
import type { PodBlock } from '../plan/pod-address/pod-address-block.ts';
import { AddressJournal, type JournalCounts } from './address-journal.ts';
import {
  type AddressRequest,
  type AllocateAnswer,
  answerAgain,
  type ReleaseAnswer,
} from './address-request.ts';
import {
  type Allocation,
  type BookRecord,
  type UnknownOwners,
  writeAllocation,
} from './allocation.ts';
import { BookState } from './book-state.ts';
import { BookWitness } from './book-witness.ts';
import { LostOwners } from './lost-owners.ts';
import { GenerationsRead } from './unknown-owners.ts';

interface AddressBookOptions {
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

export class AddressBook {
  readonly #clock: Clock;
  readonly #state: BookState;
  readonly #restMs: number;
  readonly #journal: AddressJournal;
  readonly #lost: LostOwners;
  /** Of nobody in the book, and yet not to be given. */
  #keptBack = new Map<string, Address>();
  readonly #log: Log;

  private constructor(options: AddressBookOptions) {
    const { files, folder, clock, boot, restMs, compactAboveBytes, log } = options;
    this.#clock = clock;
    this.#log = log ?? silentLog;
    this.#state = new BookState(clock, boot);
    this.#restMs = restMs;
    this.#journal = new AddressJournal({
      files,
      path: join(folder, 'addresses.journal'),
      snapshot: () => this.#state.snapshot(),
      wallMs: () => clock.wallMs(),
      ...(compactAboveBytes === undefined ? {} : { compactAboveBytes }),
      ...(log === undefined ? {} : { log }),
    });
    this.#lost = new LostOwners(this.#state, this.#journal, this.#log);
  }

  /** The caller holds the folder's lock. */
  static async open(options: AddressBookOptions): Promise<AddressBook> {
    const { files, folder, boot } = options;
    const book = new AddressBook(options);
    const witness = new BookWitness(files, folder, boot);
    const generations = new GenerationsRead();
    const damage = await book.#journal.read(
      (record, sequence) => {
        generations.see(record as BookRecord, sequence);
        book.#state.replay(record as BookRecord);
      },
      () => witness.isThere(),
    );
    const wasBooted = await witness.wasBooted();
    if (damage !== undefined) book.#lost.survive(damage, generations, wasBooted);
    await book.#journal.begin();
    const unknown = book.#state.unknown;
    if (unknown !== undefined) {
      const isRemoved = (await files.read(unknown.file)) === undefined;
      if (wasBooted) book.#lost.end('the node was rebooted');
      else if (isRemoved) book.#lost.end(`${unknown.file} was removed`);
      // Before the witness says that the journal was opened in this boot.
      await book.#journal.append(undefined);
    }
    await witness.write().catch((error) => {
      book.#log.warn(
        { error: describeError(error) },
        'that there is a journal of addresses could not be noted beside it',
      );
    });
    book.#resumeTime();
    return book;
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  /** What its journal has done, and how long it is. */
  get journal(): Readonly<JournalCounts> & { bytes: number } {
    return { ...this.#journal.counts, bytes: this.#journal.length };
  }

  setBlocks(blocks: readonly PodBlock[], reserved: readonly Prefix[] = []): void {
    this.#state.setBlocks(blocks, reserved);
    this.#lost.nameBlocks(blocks);
  }

  /** Owners that damage has taken, as long as their addresses may be in use. */
  get unknownOwners(): UnknownOwners | undefined {
    return this.#state.unknown;
  }

  get families(): Family[] {
    return this.#state.space.families;
  }

  gatewayOf(address: Address): Address | undefined {
    return this.#state.space.gatewayOf(address);
  }

  use(): PodBlockUse[] {
    return this.#state.use();
  }

  unknownOwnersIn(prefix: Prefix): number {
    return this.#state.unknownOwnersIn(prefix);
  }

  /** What an owner holds as far as memory knows; the journal may not have it yet. */
  find(owner: string): Allocation | undefined {
    return this.#state.allocations.ofOwner(owner);
  }

  findByAddress(address: Address): Allocation | undefined {
    return this.#state.allocations.ofAddress(address.toString());
  }

  blockOf(address: Address): Prefix | undefined {
    return this.#state.space.blockOf(address);
  }

  /** Everything, as far as memory knows. */
  remembered(): Iterable<Allocation> {
    return this.#state.allocations.values();
  }

  /** All addresses that somebody has whom the book does not know: nobody else gets them. */
  keepBack(all: readonly Address[]): void {
    const before = this.#keptBack;
    this.#keptBack = new Map(all.map((address) => [address.toString(), address]));
    for (const [text, address] of before) {
      if (!this.#keptBack.has(text) && !this.#state.allocations.ofAddress(text))
        this.#state.space.forget(address);
    }
    for (const [text, address] of this.#keptBack) {
      if (!this.#state.allocations.ofAddress(text)) this.#state.space.take(address);
    }
  }

  async list(): Promise<Allocation[]> {
    const all = [...this.#state.allocations.values()];
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
    const held = this.#state.allocations.ofOwner(request.owner);
    if (held !== undefined && this.#lost.mayBeFreed(held)) {
      const whose = `${held.owner} had ${held.addresses.join(' and ')}, and may have released it`;
      const answer = {
        kind: 'refused',
        reason: 'AddressTaken',
        detail: this.#lost.doubtful(whose),
      } as const;
      return { answer, written: Promise.resolve() };
    }
    if (held !== undefined) {
      return { answer: answerAgain(held, request), written: this.#journal.append(undefined) };
    }
    const choice = this.#state.space.choose(request, nowMs);
    if (choice.kind === 'refused') {
      const answer = { ...choice, detail: this.#lost.doubtful(choice.detail) };
      this.#log.debug?.(
        { owner: request.owner, reason: choice.reason, detail: answer.detail },
        'no address was given',
      );
      return { answer, written: Promise.resolve() };
    }
    const allocation: Allocation = {
      generation: this.#state.nextGeneration++,
      owner: request.owner,
      addresses: choice.addresses,
      ...(request.attachment === undefined ? {} : { attachment: request.attachment }),
      expiresAtMs: request.expiryMs === undefined ? undefined : nowMs + request.expiryMs,
    };
    if (request.expiryMs !== undefined) this.#advanceTime(nowMs);
    this.#state.put(allocation);
    const record: BookRecord = {
      kind: 'give',
      allocation: writeAllocation(allocation, this.#state.time.originMs),
    };
    this.#log.debug?.(
      { owner: request.owner, pod: request.attachment?.pod, address: choice.addresses.join(' ') },
      'gave an address',
    );
    const written = this.#journal.append(record, () => {
      this.#state.allocations.remove(allocation);
      for (const address of allocation.addresses) this.#state.space.forget(address);
    });
    return { answer: { kind: 'allocated', allocation, isNew: true }, written };
  }

  /**
   * An allocation whose record was lost, as the kernel shows it. False if it is none of those, or
   * somebody in the book has one of its addresses.
   */
  adopt(found: Omit<Allocation, 'expiresAtMs'>): boolean {
    return this.#lost.adopt(found);
  }

  /** From now on it does not expire. False if the owner holds nothing (any more). */
  async claim(owner: string): Promise<boolean> {
    const allocation = this.#unexpired(owner);
    if (allocation === undefined) return false;
    const claim = this.#claiming(allocation);
    await this.#journal.append(claim?.record, claim?.undo);
    return true;
  }

  /** The same, and on disk a moment later: for one who can find out again after a crash. */
  claimSoon(owner: string): boolean {
    const allocation = this.#unexpired(owner);
    if (allocation === undefined) return false;
    const claim = this.#claiming(allocation);
    if (claim !== undefined) this.#journal.note(claim.record, claim.undo);
    return true;
  }

  #unexpired(owner: string): Allocation | undefined {
    this.#expire(this.#clock.monotonicMs());
    return this.#state.allocations.ofOwner(owner);
  }

  /** Nothing to write if it was claimed before. */
  #claiming(allocation: Allocation): { record: BookRecord; undo: () => void } | undefined {
    const { expiresAtMs, generation } = allocation;
    if (expiresAtMs === undefined) return undefined;
    this.#state.allocations.setExpiry(allocation, undefined);
    const undo = () => this.#state.allocations.setExpiry(allocation, expiresAtMs);
    return { record: { kind: 'claim', generation }, undo };
  }

  /** Frees what the owner holds; nothing to free is fine. */
  async release(owner: string): Promise<ReleaseAnswer> {
    const allocation = this.#state.allocations.ofOwner(owner);
    if (allocation === undefined) {
      await this.#journal.append(undefined);
      return { kind: 'absent' };
    }
    await this.#free(allocation);
    this.#log.debug?.({ owner, address: allocation.addresses.join(' ') }, 'freed an address');
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
    const allocation = this.#state.allocations.ofAddress(address.toString());
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
    if (this.#state.allocations.hasUnclaimed || this.#state.space.resting(nowMs).length > 0)
      this.#advanceTime(nowMs);
    return overdue;
  }

  #advanceTime(nowMs: number): void {
    const age = this.#state.time.advance(nowMs);
    if (age !== undefined) this.#journal.note(age.record, age.undo);
  }

  #resumeTime(): void {
    const openedMs = this.#state.time.originMs;
    const resumed = this.#state.time.resume();
    if (resumed === undefined) return;
    if ('passedMs' in resumed) this.#state.age(resumed.passedMs, openedMs);
    // Refused, it is missing, and the next start treats all times as after a boot.
    else this.#journal.note(resumed.record, () => undefined);
  }

  #expire(nowMs: number): Allocation[] {
    return this.#state.allocations.expired(nowMs).filter((allocation) => {
      if (allocation.attachment !== undefined) return true;
      this.#free(allocation).catch(() => undefined);
      return false;
    });
  }

  async #free(allocation: Allocation): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#advanceTime(nowMs);
    this.#state.allocations.remove(allocation);
    for (const address of allocation.addresses) {
      this.#state.space.release(address, nowMs, this.#restMs);
    }
    const restMs = nowMs - this.#state.time.originMs + this.#restMs;
    const record: BookRecord = { kind: 'free', generation: allocation.generation, restMs };
    await this.#journal.append(record, () => this.#state.put(allocation));
  }
}
