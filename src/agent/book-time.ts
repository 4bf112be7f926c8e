/**
 * How the address book counts time across restarts. Expiry and rest are measured
 * with the monotonic clock, which begins anew with every process, and stored as
 * time from one origin that records of age move on. As long as the machine is not
 * booted anew, a restart knows the origin and costs nothing: the file says when it
 * was, in time since boot. A boot can only lengthen what was stored, by at most the
 * time since the last record of age. The wall clock has no say at all.
 */
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Anchor, BookRecord } from './allocation.ts';

/** How much a boot can lengthen an expiry or a rest. */
const ageEveryMs = 10_000;

export class BookTime {
  readonly #clock: Clock;
  readonly #boot: BootClock | undefined;
  #originMs: number;
  /** Where the file says that the origin is; while it is read. */
  #anchor: Anchor | undefined;

  constructor(clock: Clock, boot: BootClock | undefined) {
    this.#clock = clock;
    this.#boot = boot;
    this.#originMs = clock.monotonicMs();
  }

  /** Times in records are counted from here; while the file is read, it is when it was opened. */
  get originMs(): number {
    return this.#originMs;
  }

  /** Moves the origin to now, unless it is young; the record must be written before any time counted from it. */
  advance(nowMs: number): { record: BookRecord; undo: () => void } | undefined {
    const ms = nowMs - this.#originMs;
    if (ms < ageEveryMs) return undefined;
    this.#originMs = nowMs;
    const undo = () => {
      this.#originMs -= ms;
    };
    return { record: { kind: 'age', ms }, undo };
  }

  /** The origin in time since boot, as a snapshot keeps it. */
  anchor(nowMs: number): Anchor | undefined {
    const boot = this.#boot;
    return boot && { boot: boot.bootId, ms: boot.sinceBootMs() - (nowMs - this.#originMs) };
  }

  readAnchor(anchor: Anchor | undefined): void {
    this.#anchor = anchor;
  }

  readAge(ms: number): void {
    if (this.#anchor) this.#anchor = { ...this.#anchor, ms: this.#anchor.ms + ms };
  }

  /**
   * After the file was read: what went by while no agent ran, if it was the same
   * boot of the machine; after another one, the record that begins anew.
   */
  resume(): { passedMs: number } | { record: BookRecord } | undefined {
    const boot = this.#boot;
    if (boot === undefined) return undefined;
    const sinceBootMs = boot.sinceBootMs() - (this.#clock.monotonicMs() - this.#originMs);
    if (this.#anchor?.boot !== boot.bootId) {
      return { record: { kind: 'anchor', boot: boot.bootId, ms: sinceBootMs } };
    }
    const passedMs = Math.max(0, sinceBootMs - this.#anchor.ms);
    this.#originMs -= passedMs;
    return { passedMs };
  }
}
