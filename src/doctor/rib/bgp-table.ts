import { bareHop, classfulPrefix, isAddress, isPrefixText } from './address-words.ts';
import { type BgpDialect, bgpDialects, isLegend } from './bgp-table-dialects.ts';
import { cutShort, type DumpLine, type DumpSection, judgeEnd, notUnderstood } from './dump-text.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * `show ip bgp` and its like: IOS, NX-OS, IOS-XR, EOS, FRR (and SONiC), VRP and Comware.
 *
 *      Network          Next Hop            Metric LocPrf Weight Path
 *   *> 10.5.112.0/24    10.4.94.32               0             0 64513 i
 *   *=                  10.4.94.21               0             0 64513 i
 *   *> fd00:5:112:1234::/64
 *                       fd00:94::32              0             0 64513 i
 *
 * A row may be broken after a long network, and again after a long next hop; it ends with its
 * origin (i, e or ?). Without a network it is a further path of the network above.
 */
const head = /^(\s*)Network\s+Next ?Hop\b/;

export function looksLikeBgpTable({ lines }: DumpSection): boolean {
  return lines.some(
    ({ text }) =>
      head.test(text) ||
      /^\s*(?:%\s*)?No BGP (?:network|prefixes) |^Total Number of Routes: 0$/i.test(text),
  );
}

export function bgpDialectOf({ lines }: DumpSection): BgpDialect {
  const text = lines.map((line) => line.text).join('\n');
  return bgpDialects.find(({ signs }) => signs.test(text)) ?? bgpDialects.at(-1)!;
}

interface Row {
  line: DumpLine;
  marks: string;
  prefix: string;
  /** All that follows the network, over all lines of the row. */
  words: string[];
  /** Its last line. */
  text: string;
}

export function readBgpTable(section: DumpSection, builder: RibDumpBuilder): string {
  const dialect = bgpDialectOf(section);
  new BgpTableReader(section, builder, dialect).read();
  return dialect.name;
}

class BgpTableReader {
  #prefix = '';
  #row: Row | undefined;
  #columns = { network: 0, hop: 0, path: 0, count: 0 };
  #isInTable = false;
  #listed = 0;
  #paths = 0;
  #stated: number | undefined;
  #isTotalled = false;
  readonly #section: DumpSection;
  readonly #builder: RibDumpBuilder;
  readonly #dialect: BgpDialect;

  constructor(section: DumpSection, builder: RibDumpBuilder, dialect: BgpDialect) {
    this.#section = section;
    this.#builder = builder;
    this.#dialect = dialect;
  }

  read(): void {
    const { lines, isEnded } = this.#section;
    for (const line of lines) this.#readLine(line);
    if (this.#row !== undefined) throw cutShort(this.#row.line, 'has no end of its path');
    this.#endOfTable();
    const isCounted = this.#isTotalled || this.#stated !== undefined;
    judgeEnd(this.#section, this.#builder, isCounted);
    if (this.#dialect.endsWithTotal === true && !isCounted && !isEnded) {
      this.#builder.isPart(`${this.#dialect.name} ends a table with a total, and there is none`);
    }
    if (!isEnded && !isCounted && this.#builder.routeCount === 0) {
      throw cutShort(undefined, 'there is the head of a table and no route');
    }
  }

  #readLine(line: DumpLine): void {
    const { text } = line;
    if (text === '') return;
    const found = head.exec(text);
    if (found !== null) {
      this.#columns = columnsOf(text, found[1]!.length);
      this.#isInTable = true;
      return;
    }
    if (this.#readVrf(text) || this.#readTotal(text)) return;
    // A further table begins with its own legend.
    if (/^\s*(?:BGP table version is|Status codes: |For address family: )/.test(text)) {
      this.#isInTable = false;
    }
    if (!this.#isInTable && isLegend(text)) return;
    if (/^\s*Route Distinguisher Version: \d+$/.test(text)) return;
    if (/^\s*% ?[A-Z]/.test(text)) {
      throw new DumpProblem(
        `line ${line.number} is an error message: ${JSON.stringify(text.trim())}`,
      );
    }
    if (!this.#isInTable) {
      // A banner, or the end of what was typed before: no route may hide in it.
      if (/\d\/\d/.test(text)) throw notUnderstood(line, this.#dialect.name);
      return;
    }
    this.#readRow(line);
  }

  /** Which VRF, and whose table: also where the router's own id stands. */
  #readVrf(text: string): boolean {
    const id =
      /(?:local router ID(?: is)?|[Rr]outer identifier|Local router ID is) :?\s*([\d.]+)/i.exec(
        text,
      );
    if (id !== null) this.#builder.addresses.add(id[1]!.replace(/\.$/, ''));
    const vrf =
      /B?GP routing table information for VRF (\S+?)(?:, address family (.+))?$/.exec(text) ??
      /^\s*Route Distinguisher: \S+ \(default for vrf (\S+)\)/i.exec(text) ??
      /^\s*VRF:? (\S+?):?$/.exec(text) ??
      /^\s*VPN-Instance\s*:?\s*([^,]+), Router ID/i.exec(text) ??
      /^\s*Route Distinguisher: (\S+)$/.exec(text);
    if (vrf !== null) {
      const family = vrf[2];
      if (family !== undefined && !/^IPv[46] Unicast/.test(family)) {
        throw new DumpProblem(`it is the table of ${family}, which holds no unicast routes`);
      }
      this.#endOfTable();
      this.#isInTable = this.#isInTable && /Distinguisher/.test(text);
      this.#builder.vrf(
        vrf[1]!,
        family === undefined ? undefined : /IPv6/.test(family) ? 'ipv6' : 'ipv4',
      );
      this.#prefix = '';
      return true;
    }
    if (id !== null) this.#isInTable = false;
    return id !== null;
  }

  #readTotal(text: string): boolean {
    const total =
      /^\s*Total number of prefixes (\d+)/i.exec(text) ??
      /^\s*Processed (\d+) prefixes, \d+ paths?/.exec(text) ??
      /^\s*Displayed\s+(\d+)\s+(?:routes|out of)/.exec(text);
    if (total !== null) {
      if (this.#row !== undefined) throw cutShort(this.#row.line, 'has no end of its path');
      this.#isTotalled = true;
      if (this.#listed < Number(total[1])) {
        throw new DumpProblem(
          `it says ${total[1]} prefixes at its end and lists ${this.#listed}: lines are missing`,
        );
      }
      return true;
    }
    // VRP and Comware say it at the head, as the number of paths.
    const stated = /^\s*Total Number of Routes(?: from all PE)?\s*:\s*(\d+)/i.exec(text);
    if (stated !== null) {
      this.#endOfTable();
      this.#stated = Number(stated[1]);
      return true;
    }
    if (!/No BGP (?:network|prefixes) /.test(text)) return false;
    this.#builder.vrf('');
    this.#isTotalled = true;
    return true;
  }

  #endOfTable(): void {
    if (this.#stated !== undefined && this.#paths < this.#stated) {
      this.#builder.isPart(`it says ${this.#stated} routes and lists ${this.#paths}`);
    }
    this.#paths = 0;
  }

  #readRow(line: DumpLine): void {
    const { text } = line;
    const { marks, rest } = splitMarks(text, this.#columns.network, this.#dialect);
    const words = rest.split(/\s+/).filter((word) => word !== '');
    if (this.#row !== undefined) {
      if (marks.trim() !== '') throw cutShort(this.#row.line, 'has no end of its path');
      const behindHop = this.#row.words.length > 0 ? words : withoutExtras(words).slice(1);
      if (!behindHop.every((word) => tailWord.test(word))) {
        throw notUnderstood(line, this.#dialect.name);
      }
      this.#row.words.push(...words);
      this.#row.text = text;
    } else {
      const [first = '', second = ''] = words;
      const isNetwork = isPrefixText(first) || (isAddress(first) && isHop(second));
      // EVPN and the like in a table that says it is of unicast routes.
      if (/^\[\d+\]/.test(first))
        throw new DumpProblem(`${line.number}: it is a table of EVPN routes`);
      if (isNetwork) {
        const prefix = first.includes('/') ? first : classfulPrefix(first);
        if (prefix === undefined) throw notUnderstood(line, this.#dialect.name);
        this.#prefix = prefix;
        this.#listed++;
        words.shift();
      } else if (this.#prefix === '' || !isHop(first))
        throw notUnderstood(line, this.#dialect.name);
      this.#row = { line, marks, prefix: this.#prefix, words, text };
    }
    const row = this.#row;
    if (row.words.length > 1 && isWhole(row.words)) {
      this.#addRow(row, line);
      this.#row = undefined;
    } else if (row.words.length > 0 && !isHop(row.words[0]!)) {
      throw notUnderstood(line, this.#dialect.name);
    }
  }

  #addRow({ marks, prefix, words, text }: Row, line: DumpLine): void {
    const [hop = '', ...tail] = withoutExtras(words);
    if (!tail.every((word) => tailWord.test(word))) throw notUnderstood(line, this.#dialect.name);
    const { best, notInstalled } = this.#dialect;
    const isUsed = best.test(marks) && notInstalled?.test(marks) !== true && !/[dhx]/.test(marks);
    this.#paths++;
    this.#builder.add(prefix, hop === '-' ? '' : bareHop(hop), isUsed, {
      protocol: 'bgp',
      asPath: this.#asPath(hop, tail, text),
    });
  }

  /** Undefined where the columns do not show where the path begins. */
  #asPath(hop: string, tail: readonly string[], text: string): string | undefined {
    const { path: column, hop: hopColumn, count } = this.#columns;
    let path: string | undefined;
    if (this.#dialect.hasAllColumns === true) path = tail.slice(count).join(' ');
    else if (column > 0) {
      // A row that was moved was moved as a whole; on a line of its own the rest is in its place.
      const found = text.lastIndexOf(` ${hop} `);
      const moved = found < 0 ? 0 : found + 1 - hopColumn;
      // VRP's rows stand one place left of the head.
      const at = column + moved - (text[column + moved - 1] === ' ' ? 0 : 1);
      if (text[at - 1] === ' ' && text[at] !== undefined) path = text.slice(at);
    }
    return path
      ?.replace(/\s*[ie?]$/, '')
      .trim()
      .replace(/\s+/g, ' ');
  }
}

function columnsOf(head: string, network: number) {
  const path = head.lastIndexOf('Path');
  const hop = /Next ?Hop/.exec(head)!;
  const between = head.slice(hop.index + hop[0].length, path).trim();
  return { network, hop: hop.index, path, count: between === '' ? 0 : between.split(/\s+/).length };
}

/** A row ends with its origin, which VRP and Comware glue to the last AS number. */
const isWhole = (words: readonly string[]) =>
  /^(?:[\d.){},(\]]*)[ie?]$/.test(withoutExtras(words).at(-1)!);
const tailWord = /^(?:\d[\d.]*|-|[ie?]|[\d.,(){}[\]]+[ie?]?|[VIN])$/;

/** EOS writes originator and cluster list behind the origin. */
function withoutExtras(words: readonly string[]): string[] {
  const at = words.findIndex((word) => /^(?:Or-ID:|C-LST:|LL$)/.test(word));
  return at < 0 ? [...words] : words.slice(0, at);
}

/** An address, `-` for the router itself, or the name of an interface or a neighbour (FRR). */
function isHop(word: string): boolean {
  return word === '-' || isAddress(bareHop(word)) || /^[A-Za-z][\w.:@<()/-]*$/.test(word);
}

const marksOnly = /^[ VIN]?[ *>sdhrSRxmbfaceliEIp=|&#]*$/;

/** The marks and what follows them. The head of the table says where the network begins. */
function splitMarks(
  text: string,
  column: number,
  { name }: BgpDialect,
): { marks: string; rest: string } {
  const isNxos = name === 'Cisco NX-OS';
  const at = (end: number) => ({ marks: text.slice(0, end), rest: text.slice(end) });
  const isSplit = (end: number) => {
    if (!marksOnly.test(text.slice(0, end))) return false;
    const isInWord = end > 0 && text[end - 1] !== ' ' && text[end] !== ' ' && end < text.length;
    // Only the type of a path is glued to the network: *>i10.0.0.0/8, NX-OS *>efd00::/8.
    if (isInWord && text[end - 1] !== 'i' && !(isNxos && end === 3)) return false;
    const word = firstWord(text.slice(end));
    return word === '' || word === '-' || isPrefixText(word) || isAddress(bareHop(word));
  };
  if (isSplit(column)) return at(column);
  // The columns were lost: spaces squeezed, or lines moved.
  if (isNxos) return at(isSplit(3) ? 3 : 0);
  for (let end = 0; end <= 8; end++) if (isSplit(end)) return at(end);
  // An interface as the next hop: a word that no mark begins.
  return at(marksOnly.test(text.slice(0, column)) ? column : 0);
}

const firstWord = (text: string): string => text.trimStart().split(/\s+/, 1)[0] ?? '';
