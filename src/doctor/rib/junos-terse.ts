import { isAddress, isPrefixText } from './address-words.ts';
import { cutShort, type DumpLine, notUnderstood } from './dump-text.ts';
import { junosAsPath } from './junos-tables.ts';
import type { RibDumpBuilder } from './rib-dump.ts';

/**
 * Junos' `show route terse`: one line for each path; its next hops may follow on lines of their
 * own, behind the word of the origin validation.
 *
 *   A V Destination        P Prf   Metric 1   Metric 2  Next hop        AS path
 *   * ? 10.5.112.0/24      B 170        100                             64513 I
 *     unverified                                       >10.4.94.32
 *                                                       10.4.94.21
 */
const format = 'Junos (terse)';
const pathLine =
  /^(?<mark>[*+@# -]) (?:(?<valid>[?VIUN]) )?\s*(?<prefix>[0-9A-Fa-f.:]+\/\d+)?\s+(?<letter>[A-Z%])\s+(?<rest>\d.*)$/;
const hopLine = /^\s+(?:(?:unverified|valid|invalid|unknown|verified)\s+)?(?<hop>>?\S+)$/;
const headLine = /^A (?:V )?Destination +P Prf /;

const letters: Readonly<Record<string, string>> = {
  A: 'aggregate',
  B: 'bgp',
  C: 'ccc',
  D: 'connected',
  E: 'evpn',
  I: 'isis',
  L: 'local',
  O: 'ospf',
  R: 'rip',
  S: 'static',
  T: 'tunnel',
};

interface TersePath {
  line: DumpLine;
  prefix: string;
  mark: string;
  protocol: string;
  asPath: string | undefined;
  hops: string[];
}

export function readTerseLines(rows: readonly DumpLine[], builder: RibDumpBuilder): number {
  let prefix = '';
  let path: TersePath | undefined;
  let columns = { hop: 0, asPath: 0 };
  let active = 0;
  const flush = () => {
    if (path === undefined) return;
    const { mark, protocol, asPath, line } = path;
    if (path.hops.length === 0) throw cutShort(line, 'has no next hop');
    if (/[*+@]/.test(mark)) active++;
    for (const hop of path.hops) {
      builder.add(path.prefix, hop, /[*+#]/.test(mark), { protocol, asPath });
    }
    path = undefined;
  };
  for (const line of rows) {
    const { text } = line;
    if (headLine.test(text)) {
      columns = { hop: text.indexOf('Next hop'), asPath: text.indexOf('AS path') };
      continue;
    }
    const found = pathLine.exec(text)?.groups;
    if (found !== undefined) {
      flush();
      prefix = found.prefix ?? prefix;
      if (!isPrefixText(prefix)) throw notUnderstood(line, format);
      path = {
        line,
        prefix,
        mark: found.mark!,
        protocol: letters[found.letter!] ?? found.letter!.toLowerCase(),
        asPath: undefined,
        hops: [],
      };
      // Metrics stand left of the next hop, the path right of it.
      const asPath = text.slice(columns.asPath).trim();
      const hop = text.slice(columns.hop - 1, columns.asPath).trim();
      if (asPath !== '' || found.letter === 'B') path.asPath = junosAsPath(asPath);
      if (hop !== '') path.hops.push(hopOf(hop, line));
      continue;
    }
    const wrapped = /^[*+@# -] (?:[?VIUN] )?\s*([0-9A-Fa-f.:]+\/\d+)$/.exec(text);
    if (wrapped !== null) {
      flush();
      throw notUnderstood(line, format);
    }
    const hop = hopLine.exec(text)?.groups?.hop;
    if (path === undefined || hop === undefined) throw notUnderstood(line, format);
    path.hops.push(hopOf(hop, line));
  }
  flush();
  return active;
}

function hopOf(text: string, line: DumpLine): string {
  const bare = text.replace(/^>/, '');
  if (isAddress(bare)) return bare;
  if (/^(?:[a-z]+[\w-]*[/.]?[\d/.:]*|Local|Reject|Discard|MultiRecv|Receive|Indirect)$/.test(bare))
    return '';
  throw notUnderstood(line, format);
}
