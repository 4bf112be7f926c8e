import { printable } from '../base/printable.ts';
import { wrap } from './table.ts';

/** A titled part of an explanation. Cells of a line stand under each other. */
export interface Section {
  title: string;
  lines: string[][];
}

/**
 * An explanation for reading: a heading, then titles in a column of their own
 * with their lines beside them. A part with nothing to say is left out.
 */
export function renderSections(
  heading: string,
  sections: readonly Section[],
  columns: number,
): string {
  const filled = sections.filter(({ lines }) => lines.length > 0);
  const indent = Math.max(0, ...filled.map(({ title }) => title.length)) + 4;
  const text = [printable(heading)];
  for (const { title, lines } of filled) {
    alignCells(lines.map((cells) => cells.map(printable))).forEach((line, at) => {
      const start = (at === 0 ? `  ${title}` : '').padEnd(indent);
      const { before, words } = line;
      const room = Math.max(columns - indent - before.length, 30);
      wrap(words, room).forEach((part, row) => {
        const cells = row === 0 ? before : ' '.repeat(before.length);
        text.push(`${row === 0 ? start : ' '.repeat(indent)}${cells}${part}`.trimEnd());
      });
    });
  }
  return `${text.join('\n')}\n`;
}

/** The last cell of a line is words and may be broken; those before it are aligned. */
function alignCells(lines: ReadonlyArray<readonly string[]>) {
  const widths: number[] = [];
  for (const line of lines) {
    for (let at = 0; at < line.length - 1; at++) {
      widths[at] = Math.max(widths[at] ?? 0, line[at]?.length ?? 0);
    }
  }
  return lines.map((line) => ({
    before: line
      .slice(0, -1)
      .map((cell, at) => `${cell.padEnd(widths[at] ?? 0)}  `)
      .join(''),
    words: line.at(-1) ?? '',
  }));
}
