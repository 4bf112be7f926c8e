import { timerMs } from '../base/timer-ms.ts';
import { onAbort } from './on-abort.ts';

/**
 * Decorrelated jitter (Brooker, "Exponential Backoff And Jitter", AWS 2015):
 * each pause is drawn between the base and three times the last one, so that
 * many clients of one API server that came back do not return in step.
 */
export class Backoff {
  readonly #baseMs: number;
  readonly #capMs: number;
  readonly #random: () => number;
  #lastMs = 0;

  constructor(options: { baseMs: number; capMs: number; random?: () => number }) {
    this.#baseMs = options.baseMs;
    this.#capMs = options.capMs;
    this.#random = options.random ?? Math.random;
  }

  nextMs(): number {
    const upper = 3 * Math.max(this.#baseMs, this.#lastMs);
    this.#lastMs = Math.min(this.#capMs, this.#baseMs + this.#random() * (upper - this.#baseMs));
    return this.#lastMs;
  }

  reset(): void {
    this.#lastMs = 0;
  }
}

/** Resolves after the pause, or at once when the signal aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    let forget: (() => void) | undefined;
    const done = () => {
      clearTimeout(timer);
      forget?.();
      resolve();
    };
    const timer = setTimeout(done, timerMs(ms));
    if (signal !== undefined) forget = onAbort(signal, done);
  });
}
