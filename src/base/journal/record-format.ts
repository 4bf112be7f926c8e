/** How records lie in a journal file: each with a checksum, one behind the other. */
export interface RecordFormat {
  /** What every file begins with. */
  readonly header: Uint8Array;
  /** Where a chain of checksums begins; a format without one leaves it as it is. */
  readonly firstChecksum: number;
  encode(records: readonly string[], checksum: number): { bytes: Uint8Array; checksum: number };
  /** Calls back with the records of the sound beginning, oldest first. */
  decode(content: Uint8Array, onRecord: (record: string) => void): DecodedFile;
}

export interface DecodedFile {
  /** Up to here the file is sound. */
  length: number;
  /** Bytes behind that which were being written in a crash; zeros are room that was reserved. */
  torn: number;
  checksum: number;
  /** What shows that more is wrong than a write that a crash cut short, if so. */
  damage?: string;
}

/**
 * A crash leaves at most one batch unfinished, so batches have a bound: a longer
 * unreadable end is no torn write.
 */
export const maxBatchBytes = 256 * 1024;

/** Where the zeros at the end of a file begin. */
export function endOfContent(content: Uint8Array, from: number): number {
  let last = content.length;
  while (last > from && content[last - 1] === 0) last--;
  return last;
}
