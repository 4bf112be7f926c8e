import type { JournalEnd } from './journal-lines.ts';

/** What a journal file holds. */
export interface DecodedJournal {
  /** The whole batches end here, and the next one begins. */
  readonly end: JournalEnd;
  /** Bytes behind that: of a batch that a crash cut short, never acknowledged. */
  readonly torn: number;
  /** The records at the beginning of that batch which are whole. */
  readonly kept: readonly string[];
  /** The file is of an earlier version, and is not appended to. */
  readonly isOld?: boolean;
  readonly damage?: JournalDamage | undefined;
}

/** More is wrong than a write that a crash cut short. */
export interface JournalDamage {
  readonly places: readonly DamagedPlace[];
  /** Records that are missing before one that was read. */
  readonly lost: number;
  /** Records may be missing behind the last one that was read. */
  readonly isEndLost: boolean;
}

export interface DamagedPlace {
  readonly byte: number;
  readonly line: number | undefined;
  readonly detail: string;
}

/** `byte 1024 (line 7) cannot be read`, and how many more places there are. */
export function describeDamage({ places }: JournalDamage): string {
  const [first] = places;
  if (first === undefined) return 'records are missing in it';
  const line = first.line === undefined ? '' : ` (line ${first.line})`;
  const more = places.length === 1 ? '' : `, and ${places.length - 1} more places are damaged`;
  return `byte ${first.byte}${line} ${first.detail}${more}`;
}

/** Where the zeros at the end of a file begin. */
export function endOfContent(content: Uint8Array, from: number): number {
  let last = content.length;
  while (last > from && content[last - 1] === 0) last--;
  return last;
}
