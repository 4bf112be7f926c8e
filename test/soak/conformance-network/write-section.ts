/** Replaces what stands between two marks of a page. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

export function writeSection(
  name: string,
  lines: readonly string[],
  page = 'docs/conformance.md',
): void {
  const text = readFileSync(page, 'utf8');
  const marks = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`] as const;
  const [begin, end] = marks.map((mark) => text.indexOf(mark)) as [number, number];
  if (begin < 0 || end < begin) throw new Error(`${page} has no ${marks.join(' … ')}`);
  const before = text.slice(0, begin + marks[0].length);
  writeFileSync(page, `${before}\n\n${lines.join('\n')}\n\n${text.slice(end)}`);
  execFileSync('node_modules/.bin/biome', ['format', '--write', page]);
}
