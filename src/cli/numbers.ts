import { CadastreError } from '../base/errors.ts';

/** A count of blocks for people. Counts stop at 2^53 - 1: an IPv6 pool can have more. */
export function countText(count: number): string {
  return count >= Number.MAX_SAFE_INTEGER ? '2^53 or more' : String(count);
}

/** `1 node`, `2 nodes`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const units: ReadonlyArray<[string, number]> = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** How long ago, in the two largest units: `3d4h`, `90s` as `1m30s`; `-` for a time nobody wrote down. */
export function ageText(sinceMs: number, nowMs: number): string {
  if (sinceMs === 0) return '-';
  let left = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(left / seconds);
    left -= count * seconds;
    if (count > 0 || (parts.length > 0 && unit !== 's'))
      parts.push(count > 0 ? `${count}${unit}` : '');
    if (parts.length === 2) break;
  }
  return parts.join('') || '0s';
}

/** A moment as Kubernetes writes it: `2026-01-31T12:00:00Z`. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** A flag that is a number of seconds, within limits. */
export function readSeconds(flag: string, text: string, least: number, most: number): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text);
  if (seconds >= least && seconds <= most) return seconds;
  throw new CadastreError('BAD_FLAG', `${flag}=${text} is not within ${least} to ${most} seconds`);
}
