import { bareHop, isAddress, isPrefixText } from './address-words.ts';
import { cutShort, type DumpLine, type DumpSection, judgeEnd, notUnderstood } from './dump-text.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * NX-OS's `show ip route`: the line of a prefix says how many best next hops follow.
 *
 *   10.5.112.0/24, ubest/mbest: 2/0
 *       *via 10.4.94.32, Eth1/1, [20/0], 00:01:00, bgp-64524, external, tag 64513
 *       *via 10.4.94.21, Eth1/2, [20/0], 00:01:00, bgp-64524, external, tag 64513
 */
const format = 'Cisco NX-OS';
const prefixLine = /^(\S+\/\d+), ubest\/mbest: (\d+)\/\d+/;
const hopLine = /^\s+(\*{0,2})via (\S+?),(.*)$/;
const ownProtocols = /^(?:local|direct|broadcast|discard|hsrp|vrrp|glbp)$/;

export function looksLikeNxosRoutes({ lines }: DumpSection): boolean {
  return lines.some(
    ({ text }) =>
      /^\s*IP(?:v6)? (?:Route|Routing) Table for VRF "/.test(text) || prefixLine.test(text),
  );
}

export function readNxosRoutes(section: DumpSection, builder: RibDumpBuilder): string {
  const { lines } = section;
  let open:
    | { line: DumpLine; prefix: string; best: number; found: number; hops: number }
    | undefined;
  let isAnswered = false;
  let isInTable = false;
  const close = () => {
    if (open === undefined) return;
    if (open.hops === 0) throw cutShort(open.line, 'has no next hop');
    if (open.found < open.best) {
      throw cutShort(open.line, `says ${open.best} best next hops and ${open.found} follow`);
    }
    open = undefined;
  };
  for (const line of lines) {
    const { text } = line;
    if (text === '' || /^'.*' (?:denotes|in via output denotes)|^'%<string>'/.test(text.trim()))
      continue;
    const vrf = /^\s*IP(v6)? (?:Route|Routing) Table for VRF "([^"]+)"/.exec(text);
    if (vrf !== null) {
      close();
      builder.vrf(vrf[2]!, vrf[1] === undefined ? 'ipv4' : 'ipv6');
      isInTable = true;
      isAnswered = false;
      continue;
    }
    if (/^\s*Route not found$/.test(text)) {
      isAnswered = true;
      continue;
    }
    const prefix = prefixLine.exec(text);
    if (prefix !== null) {
      close();
      if (!isPrefixText(prefix[1]!)) throw notUnderstood(line, format);
      open = { line, prefix: prefix[1]!, best: Number(prefix[2]), found: 0, hops: 0 };
      isAnswered = true;
      isInTable = true;
      continue;
    }
    const hop = hopLine.exec(text);
    const rest = hop === null ? null : /\[\d+\/\d+\],\s*[^,]+,\s*([\w.-]+)/.exec(hop[3]!);
    if (open !== undefined && hop !== null && rest !== null) {
      if (hop[1] !== '') open.found++;
      open.hops++;
      const protocol = rest[1]!;
      const address = bareHop(hop[2]!);
      const isOwn = ownProtocols.test(protocol) || !isAddress(address);
      if (protocol === 'local') builder.addresses.add(address);
      builder.add(open.prefix, isOwn ? '' : address, hop[1] !== '', {
        protocol: names[protocol] ?? protocol.replace(/-.*$/, ''),
      });
      continue;
    }
    // Where a long line is broken, and what VXLAN adds to it.
    if (
      open !== undefined &&
      open.hops > 0 &&
      /^\s+(?:segid: |tunnelid: |encap: |tag \d|client-specific|recursive next hop: )/.test(text)
    )
      continue;
    if (!isInTable && !/\d\/\d/.test(text)) continue;
    if (/^\s*% ?[A-Z]/.test(text)) {
      throw new DumpProblem(
        `line ${line.number} is an error message: ${JSON.stringify(text.trim())}`,
      );
    }
    throw notUnderstood(line, format);
  }
  close();
  judgeEnd(section, builder, false);
  if (!isAnswered && !section.isEnded) throw cutShort(lines.at(-1), 'ends a table without a route');
  return format;
}

const names: Readonly<Record<string, string>> = { direct: 'connected' };
