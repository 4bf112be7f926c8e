import { isAddress } from './address-words.ts';
import { cutShort, type DumpLine, type DumpSection, judgeEnd, notUnderstood } from './dump-text.ts';
import type { RibDumpBuilder } from './rib-dump.ts';
import { isVrp, vrfOf, vrpProtocol } from './vrp-routes.ts';

/**
 * What Huawei VRP and H3C Comware print as blocks of "name : value": routing tables of IPv6, the
 * verbose ones of IPv4, and BGP tables of IPv6.
 *
 *    Destination  : FD00:5:112::                    PrefixLength : 64
 *    NextHop      : FD00:94::32                     Preference   : 255
 *
 *    *>  Network  : FD00:5:112::                             PrefixLen : 64
 *        NextHop  : FD00:94::32                              LocPrf    :
 *        Path/Ogn : 64513 i
 */
const firstName = /^\s*(?<marks>[*>disShxe^a ]*?)\s*(?:Network|Destination)\s*:\s/;
const pair =
  /([A-Za-z][A-Za-z./ ]{0,13}?)\s*:(?=\s|$)\s*((?:(?!\s[A-Za-z][A-Za-z./ ]{0,13}?\s*:(?:\s|$)).)*)/g;

export function looksLikeVrpBlocks({ lines }: DumpSection): boolean {
  return (
    lines.some(({ text }) => firstName.test(text)) &&
    lines.some(({ text }) => /\bNextHop\s*:/i.test(text))
  );
}

interface Block {
  line: DumpLine;
  marks: string;
  values: Map<string, string>;
}

export function readVrpBlocks(section: DumpSection, builder: RibDumpBuilder): string {
  const { lines } = section;
  const isBgp = lines.some(({ text }) => /Path\/Ogn/.test(text));
  const text = lines.map((line) => line.text).join('\n');
  const isHuawei = isBgp ? /ID is[\s\S]*Total Number of Routes/.test(text) : isVrp(lines);
  const format = isHuawei ? 'Huawei VRP' : 'H3C Comware';
  let block: Block | undefined;
  let prefix = '';
  let stated: number | undefined;
  let found = 0;
  const flush = () => {
    if (block === undefined) return;
    prefix = readBlock(block, prefix, isBgp, builder);
    found++;
    block = undefined;
  };
  const check = () => {
    flush();
    if (stated !== undefined && found < stated) {
      builder.isPart(`it says ${stated} routes and lists ${found}`);
    }
    stated = undefined;
    found = 0;
  };
  for (const line of lines) {
    const total =
      /^\s*(?:Total Number of Routes|Destinations\s*:\s*\d+\s+Routes|Summary [Cc]ount)\s*:\s*(\d+)\s*$/i.exec(
        line.text,
      );
    const vrf = vrfOf(line.text);
    if (total !== null || vrf !== undefined) {
      check();
      if (total !== null) stated = Number(total[1]);
      if (vrf !== undefined) builder.vrf(vrf);
      continue;
    }
    const id = /BGP local router ID(?: is| ?:)\s*([\d.]+)/i.exec(line.text);
    if (id !== null) builder.addresses.add(id[1]!);
    const head = firstName.exec(line.text);
    // A further path of the same network has its marks on a line of their own, or before NextHop.
    const further = isBgp
      ? /^\s*(?<marks>[*][*>disShxe^a ]*?)(?:\s+NextHop\s*:.*)?$/.exec(line.text)
      : null;
    if (head !== null || further !== null) {
      flush();
      const marks = (head ?? further)!.groups!.marks!;
      block = { line, marks, values: new Map() };
    }
    if (block === undefined) {
      if (/\/\d+\b/.test(line.text) && !/Path\/Ogn/.test(line.text))
        throw notUnderstood(line, format);
      continue;
    }
    readPairs(line, block, format);
  }
  const isCounted = stated !== undefined;
  if (section.isOpen && !isWholeBlock(block, isBgp)) throw cutShort(lines.at(-1), 'has no end');
  check();
  judgeEnd(section, builder, isCounted);
  return format;
}

function readPairs(line: DumpLine, { marks, values }: Block, format: string): void {
  const start = line.text.trimStart().startsWith('*') ? line.text.indexOf(marks) + marks.length : 0;
  const text = line.text.slice(start);
  if (text.trim() === '') return;
  let seen = 0;
  for (const [whole, name, value] of text.matchAll(pair)) {
    values.set(name!.replaceAll(' ', '').toLowerCase(), value!.trim());
    seen += whole.replaceAll(' ', '').length;
  }
  // Every letter of the line belongs to a pair, or the line is not understood.
  if (seen !== text.replaceAll(' ', '').length) throw notUnderstood(line, format);
}

const isWholeBlock = (block: Block | undefined, isBgp: boolean) =>
  block === undefined ||
  (isBgp
    ? /[ie?]$/.test(block.values.get('path/ogn') ?? '')
    : (block.values.get('interface') ?? '') !== '');

/** The prefix, which the next block may leave out. */
function readBlock(
  { line, marks, values }: Block,
  before: string,
  isBgp: boolean,
  builder: RibDumpBuilder,
): string {
  const network = values.get('network') ?? values.get('destination');
  const length = values.get('prefixlen') ?? values.get('prefixlength');
  let prefix = before;
  if (network !== undefined)
    prefix = network.includes('/') ? network : `${network}/${length ?? ''}`;
  const hop = (values.get('nexthop') ?? '').split(/\s+/)[0] ?? '';
  if (!builder.isPrefix(prefix) || !isAddress(hop)) {
    throw cutShort(line, 'begins a route without a prefix or a next hop');
  }
  if (isBgp) {
    const path = values.get('path/ogn');
    if (path === undefined) throw cutShort(line, 'begins a route without a path');
    const asPath = path.replace(/\s*[ie?]$/, '').trim();
    builder.add(prefix, hop, />/.test(marks), { protocol: 'bgp', asPath });
    return prefix;
  }
  const protocol = values.get('protocol');
  if (protocol === undefined || !values.has('interface')) {
    throw cutShort(line, 'begins a route that is not whole');
  }
  const state = values.get('state');
  const isUsed = state === undefined || /\bActive\b/.test(state);
  const isOwn =
    /^direct$/i.test(protocol) || /^(?:NULL0|InLoop)/i.test(values.get('interface') ?? '');
  builder.add(prefix, isOwn ? '' : hop, isUsed, { protocol: vrpProtocol(protocol) });
  return prefix;
}
