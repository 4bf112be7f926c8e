import { looksLikeBgpTable, readBgpTable } from './bgp-table.ts';
import { looksLikeCodeRoutes, readCodeRoutes } from './code-routes.ts';
import { type DumpLine, type DumpSection, notUnderstood, sectionsOf } from './dump-text.ts';
import { looksLikeJunos, readJunosText } from './junos-text.ts';
import { looksLikeNxosRoutes, readNxosRoutes } from './nxos-routes.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';
import { looksLikeVrpBlocks, readVrpBlocks } from './vrp-blocks.ts';
import { looksLikeVrpRoutes, readVrpRoutes } from './vrp-routes.ts';

/** The shapes of text, each with how it is recognised; a reader says whose it was. */
const formats: ReadonlyArray<{
  looksLike(section: DumpSection): boolean;
  read(section: DumpSection, builder: RibDumpBuilder): string;
}> = [
  { looksLike: looksLikeJunos, read: readJunosText },
  { looksLike: looksLikeNxosRoutes, read: readNxosRoutes },
  { looksLike: looksLikeVrpBlocks, read: readVrpBlocks },
  { looksLike: looksLikeVrpRoutes, read: readVrpRoutes },
  { looksLike: looksLikeBgpTable, read: readBgpTable },
  { looksLike: looksLikeCodeRoutes, read: readCodeRoutes },
];

/** Other forms of the same tables that are refused by name, with what to ask for instead. */
const unread: ReadonlyArray<[RegExp, string]> = [
  [/^\s*BGP routing table entry for /m, 'the detailed form (show ip bgp detail): save show ip bgp'],
  [/^\s*Routing entry for /m, 'the entry of one prefix: save show ip route'],
  [
    /^\S+ \(\d+ entr(?:y|ies), \d+ announced\)/m,
    'show route detail: save show route, or show route | display json',
  ],
  [/^\s*Neighbor\s+V\s+AS\b/m, 'a summary of neighbours: save show ip bgp'],
];

/** All sections of a text; the name of the software, or undefined where no section is a table. */
export function readText(text: string, builder: RibDumpBuilder): string | undefined {
  const names = new Set<string>();
  let suspect: DumpLine | undefined;
  for (const section of sectionsOf(text)) {
    const whole = section.lines.map((line) => line.text).join('\n');
    for (const [shape, what] of unread) {
      if (shape.test(whole)) throw new DumpProblem(`it is ${what}`);
    }
    const format = formats.find(({ looksLike }) => looksLike(section));
    if (format !== undefined) names.add(format.read(section, builder));
    // A banner, or the answer to another command: no route may hide in it.
    else suspect ??= section.lines.find((line) => /\d\/\d{1,3}\b/.test(line.text));
  }
  if (names.size === 0) return undefined;
  if (suspect !== undefined) throw notUnderstood(suspect, 'a routing table');
  return [...names].join(', ');
}
