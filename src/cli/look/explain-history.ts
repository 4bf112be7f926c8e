import type { BlockLog, HistoryEntry } from '../../model/block-history.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/** What became of the blocks in or around a prefix. */
export function historyAt(history: readonly BlockLog[], prefix: Prefix): BlockLog[] {
  return history
    .filter(({ cidr }) => parsePrefix(cidr)?.overlaps(prefix))
    .sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}

const mostLines = 40;

export function historyLines(logs: readonly BlockLog[]): string[][] {
  const isOne = logs.length === 1;
  const gone = logs
    .filter(({ dropped }) => dropped > 0)
    .map(({ cidr, dropped }) => [
      `${dropped} older entries were dropped${isOne ? '' : ` of ${cidr}`}`,
    ]);
  // Of several blocks too in the order in which it happened.
  const happened = logs
    .flatMap(({ cidr, entries }) => entries.map((entry) => ({ cidr, entry })))
    .sort((a, b) => (a.entry.at < b.entry.at ? -1 : a.entry.at > b.entry.at ? 1 : 0))
    .map(({ cidr, entry }) => [
      entry.at.replace(/\.\d+Z$/, 'Z'),
      ...(isOne ? [] : [cidr]),
      entry.event,
      entry.node,
      detailOf(entry),
    ]);
  const lines = [...gone, ...happened];
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
