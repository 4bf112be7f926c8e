import { isAddress, isPrefixText } from './address-words.ts';
import { cutShort, type DumpLine, type DumpSection, judgeEnd, notUnderstood } from './dump-text.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * `display ip routing-table` of Huawei VRP and H3C Comware.
 *
 *   Destination/Mask    Proto   Pre  Cost      Flags NextHop         Interface
 *
 *     10.5.112.0/24  EBGP    255  0          D    10.4.94.32      Vlanif10
 *                    EBGP    255  0          D    10.4.94.21      Vlanif10
 *
 * Comware has no flags, and may leave out all but the next hop in a further line. Both say at
 * the head how many routes there are.
 */
const headLine = /^\s*Destination\/Mask\s+Proto\b/;

export function looksLikeVrpRoutes({ lines }: DumpSection): boolean {
  return lines.some(({ text }) => headLine.test(text));
}

/** VRP has flags and names its table; Comware has neither. */
export function isVrp(lines: readonly DumpLine[]): boolean {
  return lines.some(({ text }) =>
    /^\s*Route Flags: |Routing Tables? ?: |Proto: Protocol|^\s*Destination\/Mask.*Flags|_public_|RelayNextHop|TunnelID/.test(
      text,
    ),
  );
}

const asideLine =
  /^\s*(?:Route Flags: .*|-{5,}|Proto: Protocol.*|(?:Static|Direct|BGP|OSPF\w*|ISIS|RIP\w*|O_\w+|IS_\w+|EBGP|IBGP) [Rr]outing [Tt]able [Ss]tatus ?: ?<?(?:Active|Inactive)>?|Total Number of [\w ]+:.*|[ -]+ ?(?:to vpn-instance|black hole route).*|T ?- to vpn-instance.*)$/;
/** More lines of the legend of flags. */
const flagLegend = /^\s+[A-Z] ?- [\w -]+(?:,\s*[A-Z] ?- [\w -]+)*$/;

export function readVrpRoutes(section: DumpSection, builder: RibDumpBuilder): string {
  const { lines, isOpen, isEnded } = section;
  const format = isVrp(lines) ? 'Huawei VRP' : 'H3C Comware';
  let prefix = '';
  let protocol = '';
  let isActive = true;
  let stated: number | undefined;
  let found = 0;
  let isInTable = false;
  const check = () => {
    if (stated !== undefined && found < stated) {
      builder.isPart(`it says ${stated} routes and lists ${found}`);
    }
    stated = undefined;
    found = 0;
  };
  for (const line of lines) {
    const { text } = line;
    if (text === '') continue;
    if (headLine.test(text)) {
      isInTable = true;
      continue;
    }
    const status = /[Rr]outing [Tt]able [Ss]tatus ?: ?<?(Active|Inactive)>?/.exec(text);
    if (status !== null) {
      isActive = status[1] === 'Active';
      check();
      continue;
    }
    const vrf = vrfOf(text);
    if (vrf !== undefined) {
      check();
      builder.vrf(vrf);
      isInTable = false;
      continue;
    }
    const count = /^\s*(?:Destinations\s*:\s*\d+\s+Routes|Summary [Cc]ount)\s*:\s*(\d+)/.exec(text);
    if (count !== null) {
      check();
      stated = Number(count[1]);
      continue;
    }
    if (asideLine.test(text) || (!isInTable && flagLegend.test(text))) continue;
    if (/^\s*(?:Error|% )/.test(text)) {
      throw new DumpProblem(
        `line ${line.number} is an error message: ${JSON.stringify(text.trim())}`,
      );
    }
    if (!isInTable) {
      if (/\d\/\d/.test(text)) throw notUnderstood(line, format);
      continue;
    }
    const words = text.trim().split(/\s+/);
    if (isPrefixText(words[0]!)) prefix = words.shift()!;
    else if (prefix === '' || !/^\s{4,}/.test(text)) throw notUnderstood(line, format);
    // A further next hop of Comware: it and the interface, and nothing else.
    if (!isAddress(words[0] ?? '')) {
      protocol = words.shift() ?? '';
      if (!/^[A-Za-z][\w-]*$/.test(protocol)) throw cutShort(line, 'has no protocol');
      for (const _ of ['preference', 'cost']) {
        if (!/^\d+$/.test(words.shift() ?? '')) throw cutShort(line, 'is not whole');
      }
      if (/^[A-Z]+$/.test(words[0] ?? '') && words.length > 1) words.shift();
    }
    const [hop = '', on] = words;
    if (!isAddress(hop) || words.length > 2) throw notUnderstood(line, format);
    // Without the interface the address may be cut as well.
    if (on === undefined && isOpen && line === lines.at(-1)) throw cutShort(line, 'has no end');
    const isOwn = /^direct$/i.test(protocol) || /^(?:NULL0|InLoop)/i.test(on ?? '');
    if (/^direct$/i.test(protocol) && /\/32$/.test(prefix) && hop === '127.0.0.1') {
      builder.addresses.add(prefix.slice(0, -3));
    }
    found++;
    builder.add(prefix, isOwn ? '' : hop, isActive, { protocol: vrpProtocol(protocol) });
  }
  const isCounted = stated !== undefined;
  check();
  judgeEnd(section, builder, isCounted);
  if (!isCounted && builder.routeCount === 0 && !isEnded) {
    throw cutShort(lines.at(-1), 'ends a table that has a head and no route');
  }
  return format;
}

/** `Routing Tables: Public`, `Routing Table : vpn1`, `vpn1 Routing Table : BGP`. */
export function vrfOf(text: string): string | undefined {
  const named = /^\s*(\S+) Routing Tables? ?: \w+$/.exec(text);
  if (named !== null) return named[1]!;
  return /^\s*Routing Tables? ?: ?(\S+?)\s*$/.exec(text)?.[1];
}

export function vrpProtocol(text: string): string {
  const name = text.toLowerCase();
  if (name === 'direct') return 'connected';
  if (/bgp(?:4\+)?$/.test(name)) return 'bgp';
  if (/^o_|^ospf/.test(name)) return 'ospf';
  if (/^is_|^isis/.test(name)) return 'isis';
  return name;
}
