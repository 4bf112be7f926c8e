/** The longest a timer of Node can take, 24.8 days: one that is set for longer fires at once. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * For every timer whose length a user chose: a flag, a field, a header. Whoever must not be early
 * looks again when it fires.
 */
export function timerMs(ms: number): number {
  return Math.min(ms, longestTimerMs);
}
