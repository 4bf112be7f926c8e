import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';

/** Start-up steps are tried until they work; what stands in the way is said. Throws once aborted. */
export async function untilDone(
  what: string,
  step: (signal: AbortSignal) => Promise<void>,
  { signal, log }: { signal: AbortSignal; log: Log },
): Promise<void> {
  let attempts = 0;
  for (let waitMs = 250; !signal.aborted; waitMs = Math.min(waitMs * 2, 10_000)) {
    try {
      return await step(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // The first, second, fourth, eighth time: a server that is away for an hour fills no disk.
      attempts += 1;
      const isWorthSaying = (attempts & (attempts - 1)) === 0;
      log[isWorthSaying ? 'warn' : 'debug']?.(
        { error: describeError(error), retryInMs: waitMs, count: attempts },
        `could not ${what}; trying again`,
      );
      await pause(waitMs, signal);
    }
  }
  throw new Error('stopped');
}
