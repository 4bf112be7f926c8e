import { describeError } from '../base/errors.ts';
import { timerMs } from '../base/timer-ms.ts';
import { Backoff, pause } from '../kube/backoff.ts';
import type { AgentWorld } from './agent-world.ts';
import { Wakeup } from './wakeup.ts';

interface ReconcileLoopOptions extends Pick<AgentWorld, 'clock' | 'random' | 'log'> {
  reconcile: () => Promise<void>;
  /** Several changes within this time are one round. */
  coalesceMs: number;
}

const maxCoalesceMs = 1_000;

/**
 * One round at a time, whenever something changed. A round that fails is repeated
 * with back-off until it succeeds.
 */
export class ReconcileLoop {
  readonly #o: ReconcileLoopOptions;
  readonly #retry: Backoff;
  readonly #wakeup = new Wakeup();

  constructor(options: ReconcileLoopOptions) {
    this.#o = options;
    this.#retry = new Backoff({ baseMs: 200, capMs: 10_000, random: options.random });
  }

  touch(): void {
    this.#wakeup.touch();
  }

  touchAfter(ms: number): void {
    setTimeout(() => this.touch(), timerMs(ms)).unref();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, coalesceMs, reconcile } = this.#o;
    let tookMs = 0;
    while (!signal.aborted) {
      await this.#wakeup.wait(signal);
      // In a large cluster where everything moves, at most a fifth of the time is spent here.
      await pause(Math.max(coalesceMs, Math.min(4 * tookMs, maxCoalesceMs)), signal);
      if (signal.aborted) return;
      this.#wakeup.clear();
      const beganMs = clock.monotonicMs();
      try {
        await reconcile();
        this.#retry.reset();
        tookMs = clock.monotonicMs() - beganMs;
      } catch (error) {
        // Not the pause, which is no work.
        tookMs = clock.monotonicMs() - beganMs;
        const waitMs = this.#retry.nextMs();
        this.#o.log.error(
          { error: describeError(error), retryInMs: waitMs },
          'reconciling the node failed; it is tried again',
        );
        await pause(waitMs, signal);
        this.touch();
      }
    }
  }
}
