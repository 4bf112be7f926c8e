import type { Log } from '../../base/log.ts';
import type { CniCode } from './cni-error.ts';

const sayAgainMs = 10 * 60_000;

/**
 * The log of STATUS calls that are answered with an error. A runtime repeats them, several
 * times a second for as long as it lasts, so one is logged when the reason changes, and then
 * every ten minutes with the number of those in between.
 */
export class StatusRefusals {
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  #reason: string | undefined;
  #loggedAtMs = 0;
  #unlogged = 0;

  constructor(log: Log, monotonicMs: () => number) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  refused(code: CniCode, reason: string): void {
    const nowMs = this.#monotonicMs();
    if (reason === this.#reason && nowMs - this.#loggedAtMs < sayAgainMs) {
      this.#unlogged++;
      return;
    }
    const repeated = this.#unlogged === 0 ? {} : { count: this.#unlogged };
    this.#log.warn(
      { verb: 'STATUS', code, error: reason, ...repeated },
      'the runtime is told that no pod can get an address here',
    );
    this.#reason = reason;
    this.#loggedAtMs = nowMs;
    this.#unlogged = 0;
  }

  succeeded(): void {
    if (this.#reason === undefined) return;
    this.#reason = undefined;
    this.#unlogged = 0;
    this.#log.info({ verb: 'STATUS' }, 'the runtime is told that pods can get addresses again');
  }
}
