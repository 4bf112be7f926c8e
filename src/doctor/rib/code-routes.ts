import { bareHop, isAddress, isPrefixText } from './address-words.ts';
import {
  cutShort,
  type DumpLine,
  type DumpSection,
  isFiltered,
  judgeEnd,
  notUnderstood,
} from './dump-text.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * `show ip route` and `show ipv6 route` of the makers that put a letter before the prefix:
 * IOS, IOS-XR, EOS, FRR (and SONiC). One route may stand on several lines.
 *
 *   B        10.5.112.0/24 [20/0] via 10.4.94.32, 00:01:00          IOS
 *                          [20/0] via 10.4.94.21, 00:01:00
 *        10.5.0.0/24 is subnetted, 2 subnets                        the mask of rows without one
 *   B>* 10.5.112.0/24 [20/0] via 10.4.94.32, eth0, weight 1, 00:01  FRR: selected, in the FIB
 *    B E      fd00:5::/64 [200/0]                                   EOS
 *              via fe80::1, Ethernet1
 */
export function looksLikeCodeRoutes({ lines }: DumpSection): boolean {
  const isLegend = lines.some(({ text }) => /^\s*Codes: +\w+ ?-? \w+/.test(text));
  return isLegend || lines.some(({ text }) => /^\s*Gateway of last resort/.test(text));
}

const legendLine =
  /^\s*Codes:|^\s+(?:\S{1,4} ?\S{0,3} {0,2}[-–] [\w/() .-]+(?:,|$)\s*)+$|^\s+[>*+%~!&()\w]{1,3} - /;
const asideLine =
  /^\s*(?:Gateway of last resort(?: is)?\b.*|WARNING: Some of the routes.*|kernel, and they are marked.*|! ?IP(?:v6)? routing not enabled|Source: .*|Displaying \d+ of \d+ .*|No routes found\.?|% ?No matching routes found|Route not found|IPv4 unicast VRF default:|IPv6 unicast VRF default:|VRF default:?)\s*$/;
const majorNetwork =
  /^\s+([\d.]+)\/(\d+) is (?:(variably) )?subnetted, (\d+) subnets?(?:, \d+ masks)?$/;
const address = String.raw`(?:\d+\.\d+\.\d+\.\d+|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)`;
const routeLine = new RegExp(
  String.raw`^(?<code> {0,2}[A-Za-z][A-Za-z0-9*>+%!#~&()| ]{0,9}?)\s+(?<prefix>${address}(?:/\d+)?)(?<body>(?:[\s,].*)?)$`,
);
const moreLine =
  /^\s+(?:[*>qrb ]*\s)?(?:\[\d+\/\d+\],? )?(?:via \S.*|is directly connected,? .*|directly connected,? .*|unreachable .*)$|^\s+[*>]*\s*\[\d+\/\d+\],? .*$/;
/** What is left of a long line: `1w2d, GigabitEthernet0/0/0/0`. */
const restLine = /^\s+(?:\d[\w:.]*|never)(?:, \S.*)?$|^\s+[A-Z][\w./-]*\d$/;

interface Entry {
  line: DumpLine;
  code: string;
  prefix: string;
  /** The lines of the route; each next hop stands on one of them. */
  parts: string[];
}

export function readCodeRoutes(section: DumpSection, builder: RibDumpBuilder): string {
  const text = section.lines.map((line) => line.text).join('\n');
  const format = softwareOf(text);
  const reader = new CodeRouteReader(section, builder, format);
  reader.read();
  return format;
}

function softwareOf(text: string): string {
  if (/selected route|FIB route|^[A-Za-z]>[*qrbto ] ?\S/m.test(text)) return 'FRR';
  if (/B I - iBGP|B E - eBGP|^\s*VRF(?: name)?: /m.test(text) && !/\(!\) - FRR Backup/.test(text)) {
    return 'Arista EOS';
  }
  if (/\(!\) - FRR Backup path|IS-IS summary null|DAGR/.test(text)) return 'Cisco IOS-XR';
  return 'Cisco IOS';
}

class CodeRouteReader {
  #entry: Entry | undefined;
  #major: { network: string; length: string; isVariable: boolean } | undefined;
  #counted: { stated: number; found: number } | undefined;
  #hasRoute = false;
  #entries: { stated: number; found: number } | undefined;
  readonly #section: DumpSection;
  readonly #builder: RibDumpBuilder;
  readonly #format: string;

  constructor(section: DumpSection, builder: RibDumpBuilder, format: string) {
    this.#section = section;
    this.#builder = builder;
    this.#format = format;
  }

  read(): void {
    const { lines, isOpen, isEnded } = this.#section;
    for (const line of lines) this.#readLine(line);
    const last = lines.at(-1)!;
    if (isOpen && !isEnded && this.#entry !== undefined && !isWholeLine(last.text)) {
      throw cutShort(last, 'has no end');
    }
    this.#flush();
    this.#checkCount();
    this.#checkEntries();
    judgeEnd(this.#section, this.#builder, false);
    if (!this.#hasRoute && !isEnded && !/^\s*%? ?No .*|^Route not found/.test(last.text)) {
      throw cutShort(last, 'ends a table that has a head and no route');
    }
  }

  #readLine(line: DumpLine): void {
    const { text } = line;
    if (text === '') return;
    if (this.#readVrf(text)) return;
    if (this.#entry === undefined && text.length < 200 && legendLine.test(text)) return;
    if (asideLine.test(text)) {
      this.#flush();
      return;
    }
    const major = majorNetwork.exec(text);
    if (major !== null) {
      this.#flush();
      this.#checkCount();
      this.#major = { network: major[1]!, length: major[2]!, isVariable: major[3] !== undefined };
      this.#counted = { stated: Number(major[4]), found: 0 };
      return;
    }
    const found = routeLine.exec(text)?.groups;
    if (found !== undefined && !/^\s*via\b/.test(text)) {
      this.#flush();
      const prefix = this.#prefixOf(found.prefix!, line);
      const isHeadOnly = /^\s*(?:\[\d+\/\d+\](?:, tag \d+)?)?$/.test(found.body!);
      this.#entry = { line, code: found.code!, prefix, parts: isHeadOnly ? [] : [found.body!] };
      return;
    }
    if (this.#entry !== undefined && moreLine.test(text)) {
      this.#entry.parts.push(text);
      return;
    }
    if (
      this.#entry !== undefined &&
      restLine.test(text) &&
      /,$/.test(this.#entry.parts.at(-1) ?? '')
    ) {
      this.#entry.parts.push(`${this.#entry.parts.pop()} ${text.trim()}`);
      return;
    }
    if (/^\s*% ?[A-Z]/.test(text)) {
      throw new DumpProblem(
        `line ${line.number} is an error message: ${JSON.stringify(text.trim())}`,
      );
    }
    if (!this.#hasRoute && this.#entry === undefined && !/\d\/\d|via /.test(text)) return;
    throw notUnderstood(line, this.#format);
  }

  #readVrf(text: string): boolean {
    const found =
      /^\s*VRF(?: name)?: (\S+?):?$/.exec(text) ??
      /^\s*VRF (\S+?):$/.exec(text) ??
      /^\s*Routing Table: (\S+)$/.exec(text) ??
      /^\s*IP(?:v[46])? [Rr]outing [Tt]able ?(?:-|:|for VRF) ?"?(\S+?)"?(?: - (\d+) entries)?$/.exec(
        text,
      ) ??
      /^\s*IPv6 Routing Table - (\d+) entries$/.exec(text);
    if (found === null) return false;
    this.#flush();
    this.#checkCount();
    this.#checkEntries();
    this.#counted = undefined;
    this.#major = undefined;
    const isOldForm = /IPv6 Routing Table - \d+ entries$/.test(text);
    const stated = isOldForm ? found[1] : found[2];
    this.#builder.vrf(isOldForm ? '' : found[1]!, /IPv6/.test(text) ? 'ipv6' : undefined);
    if (stated !== undefined) this.#entries = { stated: Number(stated), found: 0 };
    return true;
  }

  /** A row without a mask has that of the line "is subnetted" above it. */
  #prefixOf(text: string, line: DumpLine): string {
    if (this.#major !== undefined && !isInClassOf(text, this.#major.network)) {
      this.#checkCount();
      this.#major = undefined;
      this.#counted = undefined;
    }
    const prefix = text.includes('/') ? text : this.#major && `${text}/${this.#major.length}`;
    const isKnown = text.includes('/') || this.#major?.isVariable === false;
    if (prefix === undefined || !isKnown || !isPrefixText(prefix)) {
      throw new DumpProblem(
        `line ${line.number}: the prefix ${text} has no length, and no line above gives it`,
      );
    }
    if (this.#counted !== undefined) this.#counted.found++;
    if (this.#entries !== undefined) this.#entries.found++;
    return prefix;
  }

  #checkCount(): void {
    const counted = this.#counted;
    if (counted === undefined || counted.found >= counted.stated || isFiltered(this.#section))
      return;
    const { network, length } = this.#major!;
    this.#builder.isPart(
      `it says ${counted.stated} subnets of ${network}/${length} and lists ${counted.found}`,
    );
  }

  #checkEntries(): void {
    const counted = this.#entries;
    if (counted === undefined || counted.found >= counted.stated || isFiltered(this.#section))
      return;
    this.#builder.isPart(`it says ${counted.stated} entries and lists ${counted.found}`);
    this.#entries = undefined;
  }

  #flush(): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    this.#entry = undefined;
    this.#hasRoute = true;
    const { code, prefix, parts, line } = entry;
    if (parts.length === 0) throw cutShort(line, 'is a prefix without a next hop');
    const protocol = protocolOf(code);
    if (protocol === 'local' && /\/(32|128)$/.test(prefix)) {
      this.#builder.addresses.add(prefix.slice(0, prefix.indexOf('/')));
    }
    const isFrr = this.#format === 'FRR';
    const isSelected = !isFrr || (/>/.test(code) && !/r/.test(code.slice(1)));
    let resolvesBeyond: number | undefined;
    const indent = line.text.indexOf(parts[0]!);
    for (const [at, part] of parts.entries()) {
      // FRR lists how a recursive next hop is resolved below it, two places further in.
      const column = part.indexOf('via ') + (at === 0 && part !== line.text ? indent : 0);
      if (isFrr && resolvesBeyond !== undefined && column > resolvesBeyond) continue;
      resolvesBeyond = isFrr && /\(recursive\)/.test(part) ? column : undefined;
      const isUsed = isSelected && !/inactive|\(!\)|possibly down|\(dead\)|rejected/.test(part);
      this.#builder.add(prefix, hopOf(part, line, this.#format), isUsed, { protocol });
    }
  }
}

/** The next hop that a line of a route names; none for one of the router's own. */
function hopOf(part: string, line: DumpLine, format: string): string {
  const found = /\bvia (?:VTEP )?(\S+)/.exec(part);
  if (found !== null) {
    const hop = bareHop(found[1]!);
    return isAddress(hop) && !/, receive$/.test(part) ? hop : '';
  }
  const isOwn =
    /directly connected|is a summary|unreachable|blackhole|Null ?0|^\s*\[\d+\/\d+\],? (?:\S+, )?\S+$|receive|is possibly down/;
  if (isOwn.test(part)) return '';
  throw notUnderstood(line, format);
}

/** Something follows the next hop, so that nothing of it can be missing. */
function isWholeLine(text: string): boolean {
  return /via [^,]+,\s*\S|directly connected, ?\S|Null0|receive|unreachable/.test(text);
}

function isInClassOf(text: string, network: string): boolean {
  const octets =
    Number(network.split('.')[0]) < 128 ? 1 : Number(network.split('.')[0]) < 192 ? 2 : 3;
  const own = text.split(/[./]/).slice(0, octets).join('.');
  return own === network.split('.').slice(0, octets).join('.');
}

const protocols: Readonly<Record<string, string>> = {
  B: 'bgp',
  C: 'connected',
  L: 'local',
  LC: 'local',
  S: 'static',
  K: 'kernel',
  O: 'ospf',
  OI: 'ospf',
  OE1: 'ospf',
  OE2: 'ospf',
  ON1: 'ospf',
  ON2: 'ospf',
  O3: 'ospf',
  i: 'isis',
  I: 'isis',
  I1: 'isis',
  I2: 'isis',
  IA: 'isis',
  IS: 'isis',
  R: 'rip',
  D: 'eigrp',
  EX: 'eigrp',
  A: 'aggregate',
};

function protocolOf(code: string): string {
  const [first = ''] = code.trim().split(/[^A-Za-z0-9]/, 1);
  return protocols[first] ?? first.toLowerCase();
}
