import type { EntryRow } from '../rows.ts';

/**
 * What can only have happened after what. Objects have times of a second, and the operator
 * writes several things down at one moment: there the cause comes before its effect.
 */
const steps: readonly (readonly string[])[] = [
  ['NodeJoined'],
  ['Assigned', 'Adopted', 'Registered', 'Returned'],
  ['SessionUp'],
  ['RecordWritten'],
  ['Announced'],
  ['Draining'],
  ['SessionDown'],
  ['Withdrawn'],
  ['NodeGone'],
  ['Cooling'],
  ['Released'],
];
const places = new Map(steps.flatMap((step, at) => step.map((reason) => [reason, at] as const)));

/** Within this time the order of causes counts, not that of clocks. */
const sameMomentMs = 1_000;

/** Newest first; of one moment, effects before causes, as everything is read upwards. */
export function newestFirst(a: EntryRow, b: EntryRow): number {
  const isOneMoment =
    Math.floor(a.atMs / sameMomentMs) === Math.floor(b.atMs / sameMomentMs) &&
    (a.node === b.node || a.cidr === b.cidr);
  const [x, y] = [places.get(a.reason), places.get(b.reason)];
  if (isOneMoment && x !== undefined && y !== undefined && x !== y) return y - x;
  return b.atMs - a.atMs || (a.id < b.id ? 1 : -1);
}
