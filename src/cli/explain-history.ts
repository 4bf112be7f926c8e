import type { BlockLog, HistoryEntry } from '../model/block-history.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';

/** What became of the blocks in or around a piece of land. */
export function historyAt(history: readonly BlockLog[], prefix: Prefix): BlockLog[] {
  return history
    .filter(({ cidr }) => parsePrefix(cidr)?.overlaps(prefix))
    .sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}

const mostLines = 40;

export function historyLines(logs: readonly BlockLog[]): string[][] {
  const isOne = logs.length === 1;
  const lines = logs.flatMap(({ cidr, dropped, entries }) => [
    ...(dropped === 0
      ? []
      : [[`${dropped} older entries were let go${isOne ? '' : ` of ${cidr}`}`]]),
    ...[...entries]
      .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
      .map((entry) => [
        entry.at.replace(/\.\d+Z$/, 'Z'),
        ...(isOne ? [] : [cidr]),
        entry.event,
        entry.node,
        detailOf(entry),
      ]),
  ]);
  if (lines.length <= mostLines) return lines;
  // The latest matter most.
  const left = lines.length - mostLines;
  return [[`${left} earlier lines (-o json has all)`], ...lines.slice(-mostLines)];
}

function detailOf({ event, pool, why, peers }: HistoryEntry): string {
  if (event === 'Announced') return `to ${(peers ?? []).join(', ')}`;
  const words = [pool === undefined || pool === '' ? '' : `pool ${pool}`, why ?? ''];
  return words.filter((word) => word !== '').join(': ');
}
