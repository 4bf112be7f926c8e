/**
 * How long a watch may say nothing. The API server sends a bookmark about once a
 * minute, and one two seconds before a watch reaches the timeout that was asked for;
 * not yet in its first minute (measured with Kubernetes 1.36), but then the watch ends
 * at its time, and that is heard too. So watches are short: one that has sent nothing
 * and does not end is broken, although its connection looks open.
 *
 * The times add up to less than a minute: a watch of at most 46 s is given up after
 * 6 s more (`silenceGraceMs`), and the next one lasts 5 s, so that it shows soon
 * whether watches work again. A cache is said to be silent after 60 s.
 *
 * What it costs: an agent follows 9 resources, so 10,000 agents start
 * 10,000 · 9 / 41 s ≈ 2,200 watches a second on all API servers together, at about
 * half a millisecond of CPU each (measured): one core, of all that such a cluster has.
 */
export const usualWatchSeconds = 41;
export const silenceGraceMs = 6_000;
/** After a watch that failed or said nothing, or when a deletion is expected of it. */
export const trialWatchSeconds = 5;
/** Longer than a cache can be silent while watches work. */
export const silentLimitMs = 60_000;

/** Spread by an eighth to either side: watches that began together do not end together. */
export function spreadWatchSeconds(seconds: number, random: () => number): number {
  return Math.max(1, Math.round(seconds * (0.88 + 0.24 * random())));
}
