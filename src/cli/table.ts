import { printable } from '../base/printable.ts';

/**
 * Columns as wide as they need to be, two spaces apart. The last one carries
 * the words and is broken between them, so that a whole row stays within the
 * width however much there is to say.
 */
export function renderTable(
  headings: readonly string[],
  cells: ReadonlyArray<readonly string[]>,
  width: number,
): string {
  const rows = cells.map((row) => row.map(printable));
  const last = headings.length - 1;
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + gap.length, 0);
  const room = Math.max(width - before, leastRoom);
  const lines: string[] = [];
  for (const row of [headings, ...rows]) {
    const start = widths
      .slice(0, last)
      .map((one, at) => (row[at] ?? '').padEnd(one) + gap)
      .join('');
    wrap(row[last] ?? '', room).forEach((words, at) => {
      lines.push(`${at === 0 ? start : ' '.repeat(before)}${words}`.trimEnd());
    });
  }
  return `${lines.join('\n')}\n`;
}

const gap = '  ';
/** Below this a column of words is a column of letters: rather a long row. */
const leastRoom = 30;

/** Lines of at most `room` characters; a word that is longer stands alone. */
export function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line === '') line = word;
    else if (line.length + 1 + word.length <= room) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Broken between words within the width; further lines stand under the first. */
export function wrapped(text: string, columns: number, before: string): string[] {
  const start = printable(before);
  const blank = ' '.repeat(start.length);
  return wrap(printable(text), Math.max(columns - start.length, leastRoom)).map((line, at) =>
    `${at === 0 ? start : blank}${line}`.trimEnd(),
  );
}
