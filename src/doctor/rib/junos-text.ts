import { bareHop, isAddress, isPrefixText } from './address-words.ts';
import {
  cutShort,
  type DumpLine,
  type DumpSection,
  isFiltered,
  judgeEnd,
  notUnderstood,
} from './dump-text.ts';
import { junosAsPath, junosProtocol, junosTable } from './junos-tables.ts';
import { readTerseLines } from './junos-terse.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * Junos' `show route`: a block for each prefix, a bracket for each path, a line for each next
 * hop. A long prefix stands on a line of its own.
 *
 *   inet.0: 5 destinations, 6 routes (5 active, 0 holddown, 0 hidden)
 *   + = Active Route, - = Last Active, * = Both
 *
 *   10.5.112.0/24      *[BGP/170] 00:01:00, localpref 100
 *                         AS path: 64513 I, validation-state: unverified
 *                       > to 10.4.94.32 via ge-0/0/0.0
 *                       [BGP/170] 00:01:00, localpref 100
 */
const format = 'Junos';
const tableLine =
  /^(\S+): (\d+) destinations?, (\d+) routes? \((\d+) active, \d+ holddown, \d+ hidden\)$/;
const pathLine =
  /^(?<prefix>[0-9A-Fa-f.:]+\/\d+)?\s*(?<mark>[*+@#-]?)\[(?<protocol>[A-Za-z][\w-]*)(?:\/-?\d+)*\]\s+(?<rest>\S.*)$/;
const hopLine =
  /^\s+(?<best>>)?\s*(?:to (?<hop>[0-9A-Fa-f.:]+)(?: via (?<on>\S+?))?|via \S+?|to table \S+)(?:,.*)?$/;
const ownLine =
  /^\s+>?\s*(?:Reject|Discard|Receive|MultiRecv|Local(?: via \S+)?|Resolve via \S+|Multicast.*|Table|Indirect|Unusable|Inactive)$/;
const asPathLine = /^\s+AS path: (.*)$/;
const asideLine =
  /^(?:\s*[@+#] = .*|Restart Complete|Restart Pending.*|Limit\/Threshold: .*|warning: .*|\s+validation-state: .*|\s+Validation State: .*)$/;

export function looksLikeJunos({ lines }: DumpSection): boolean {
  return lines.some(
    ({ text }) => tableLine.test(text) || /^\+ = Active Route, - = Last Active/.test(text),
  );
}

interface JunosPath {
  line: DumpLine;
  prefix: string;
  mark: string;
  protocol: string;
  asPath: string | undefined;
  hops: string[];
}

export function readJunosText(section: DumpSection, builder: RibDumpBuilder): string {
  const { lines } = section;
  let table: { name: string; routes: number; listed: number; lines: DumpLine[] } | undefined;
  const tables: Array<{ name: string; routes: number; lines: DumpLine[] }> = [];
  for (const line of lines) {
    const found = tableLine.exec(line.text);
    if (found !== null) {
      table = { name: found[1]!, routes: Number(found[4]), listed: 0, lines: [] };
      tables.push(table);
    } else if (line.text === '' || asideLine.test(line.text)) continue;
    else if (table === undefined) {
      if (/\d\/\d/.test(line.text)) throw notUnderstood(line, format);
    } else table.lines.push(line);
  }
  if (tables.length === 0) throw cutShort(lines.at(-1), 'ends before the first table');
  for (const { name, routes, lines: rows } of tables) {
    const found = junosTable(name);
    // mpls.0, bgp.evpn.0, inet.2 and the like: labels and other things than unicast routes.
    if (found === undefined) continue;
    builder.vrf(found.vrf, found.family);
    const isTerse = rows.some(({ text }) => /^A (?:V )?Destination +P Prf /.test(text));
    const listed = isTerse ? readTerseLines(rows, builder) : readBlocks(rows, builder);
    if (listed < routes && !isFiltered(section)) {
      builder.isPart(
        `${name} says ${routes} active routes and lists ${listed} (a filter does that too: keep the command's line in the file then)`,
      );
    }
  }
  const last = lines.at(-1)!;
  if (section.isOpen && hopLine.test(last.text) && !/ via \S/.test(last.text)) {
    throw cutShort(last, 'has no end');
  }
  judgeEnd(section, builder, false);
  return format;
}

/** How many prefixes have an active route. */
function readBlocks(rows: readonly DumpLine[], builder: RibDumpBuilder): number {
  let prefix = '';
  let path: JunosPath | undefined;
  let active = 0;
  const flush = () => {
    if (path === undefined) return;
    if (path.hops.length === 0) throw cutShort(path.line, 'has no next hop');
    const { mark, protocol, asPath } = path;
    if (/[*+@]/.test(mark)) active++;
    // Routing use only (@) is not what packets take.
    for (const hop of path.hops) {
      builder.add(path.prefix, hop, /[*+#]/.test(mark), { protocol, asPath });
    }
    if (protocol === 'local' && /\/(?:32|128)$/.test(path.prefix)) {
      builder.addresses.add(path.prefix.slice(0, path.prefix.indexOf('/')));
    }
    path = undefined;
  };
  for (const line of rows) {
    const { text } = line;
    const found = pathLine.exec(text)?.groups;
    if (found !== undefined) {
      flush();
      prefix = found.prefix ?? prefix;
      if (!isPrefixText(prefix)) throw notUnderstood(line, format);
      path = {
        line,
        prefix,
        mark: found.mark!,
        protocol: junosProtocol(found.protocol!),
        asPath: undefined,
        hops: [],
      };
      continue;
    }
    if (isPrefixText(text)) {
      flush();
      prefix = text;
      continue;
    }
    const asPath = asPathLine.exec(text);
    if (path !== undefined && asPath !== null) {
      path.asPath = junosAsPath(asPath[1]!);
      continue;
    }
    const hop = hopLine.exec(text)?.groups;
    if (path !== undefined && hop !== undefined) {
      const to = hop.hop === undefined ? '' : bareHop(hop.hop);
      if (to !== '' && !isAddress(to)) throw notUnderstood(line, format);
      path.hops.push(to);
      continue;
    }
    if (path !== undefined && ownLine.test(text)) {
      path.hops.push('');
      continue;
    }
    if (/^\s*error: /.test(text)) {
      throw new DumpProblem(
        `line ${line.number} is an error message: ${JSON.stringify(text.trim())}`,
      );
    }
    throw notUnderstood(line, format);
  }
  flush();
  if (prefix !== '' && rows.at(-1)!.text === prefix) throw cutShort(rows.at(-1), 'has no path');
  return active;
}
