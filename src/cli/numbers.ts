import { CadastreError } from '../base/errors.ts';

/** A count of blocks for people. Counts stop at 2^53 - 1: an IPv6 pool can have more. */
export function countText(count: number): string {
  return count >= Number.MAX_SAFE_INTEGER ? '2^53 or more' : String(count);
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

/** A flag that is a whole number, within limits. */
export function readWhole(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  const message = `${flag}=${text} is not a whole number from ${least} to ${most}`;
  throw new CadastreError('BAD_FLAG', message);
}
