import { timerMs } from '../base/timer-ms.ts';
import { onAbort } from '../kube/on-abort.ts';

/** What a loop waits for between two rounds: a touch, which also counts if it came during the round. */
export class Wakeup {
  #isTouched = false;
  #end: (() => void) | undefined;

  touch(): void {
    this.#isTouched = true;
    this.#end?.();
  }

  /** All that was touched until now is about to be looked at. */
  clear(): void {
    this.#isTouched = false;
  }

  /** Until it is touched, the time is over, or the signal aborts; at once if it was since `clear`. */
  wait(signal: AbortSignal, ms?: number): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || this.#isTouched) return resolve();
      const end = () => {
        clearTimeout(timer);
        forget();
        this.#end = undefined;
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(end, timerMs(ms)).unref();
      const forget = onAbort(signal, end);
      this.#end = end;
    });
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }
}
