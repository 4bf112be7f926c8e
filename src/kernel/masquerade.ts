/**
 * Masquerade: what leaves our blocks for an address outside the exceptions
 * takes the node's own address. One nftables table of ours, replaced in one
 * transaction; no other table is read or written. The table holds its inputs as
 * sets, so that it can be read back and compared, and so that ten thousand
 * exceptions cost one lookup.
 */
import { Address, parseAddress } from '../net/address.ts';
import { type Family, families, familyBits } from '../net/family.ts';
import { Prefix, parsePrefix } from '../net/prefix.ts';
import { PrefixSet } from '../net/prefix-set.ts';

export const masqueradeTable = 'cadastre';

export interface MasqueradeRules {
  /** The node's own blocks. */
  sources: readonly Prefix[];
  /** Destinations that see the pod's own address: the pods' whole range, the nodes, … */
  exceptions: readonly Prefix[];
}

const words = {
  ipv4: { type: 'ipv4_addr', field: 'ip', suffix: '4' },
  ipv6: { type: 'ipv6_addr', field: 'ip6', suffix: '6' },
} as const;

/** The script for `nft -f -`: the whole table anew, or none. */
export function masqueradeScript(rules: MasqueradeRules | undefined): string {
  // "add" first, because deleting a table that is not there fails the transaction.
  const clear = `add table inet ${masqueradeTable}\ndelete table inet ${masqueradeTable}\n`;
  if (rules === undefined) return clear;
  const used = families.filter((family) => rules.sources.some((p) => p.family === family));
  const sets = used.flatMap((family) => [
    setText(`sources${words[family].suffix}`, family, rules.sources),
    setText(`exceptions${words[family].suffix}`, family, rules.exceptions),
  ]);
  const lines = used.map((family) => {
    const { field, suffix } = words[family];
    return `    ${field} saddr @sources${suffix} ${field} daddr != @exceptions${suffix} masquerade\n`;
  });
  return (
    `${clear}table inet ${masqueradeTable} {\n${sets.join('')}` +
    '  chain postrouting {\n' +
    '    type nat hook postrouting priority srcnat; policy accept;\n' +
    `${lines.join('')}  }\n}\n`
  );
}

function setText(name: string, family: Family, prefixes: readonly Prefix[]): string {
  const elements = prefixes.filter((prefix) => prefix.family === family).map(String);
  const filled = elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} };`;
  // Overlapping exceptions are the user's right; nft merges them instead of refusing.
  return `  set ${name} { type ${words[family].type}; flags interval; auto-merge;${filled} }\n`;
}

/**
 * What `nft -j list table` shows, as rules again, in the fewest prefixes; undefined if
 * something in it is not as we make it.
 */
export function readMasquerade(json: string): MasqueradeRules | undefined {
  const { nftables } = JSON.parse(json) as { nftables: Record<string, unknown>[] };
  const sets = nftables.flatMap(({ set }) => (set ? [set as NftSet] : []));
  const ruleCount = nftables.filter((item) => 'rule' in item).length;
  const hasChain = nftables.some((item) => 'chain' in item);
  const inSets = (start: string) =>
    sets
      .filter(({ name }) => name.startsWith(start))
      .flatMap(({ elem = [] }) => elem.map(elementPrefixes));
  const sources = inSets('sources').flat();
  const exceptions = inSets('exceptions').flat();
  const sourceFamilies = new Set(sources.map((prefix) => prefix?.family));
  if (!hasChain || ruleCount !== sourceFamilies.size) return undefined;
  if (sources.includes(undefined) || exceptions.includes(undefined)) return undefined;
  return inFewestPrefixes({
    sources: sources as Prefix[],
    exceptions: exceptions as Prefix[],
  });
}

/** nft merges neighbours, so rules can be compared only in one form. */
export function inFewestPrefixes({ sources, exceptions }: MasqueradeRules): MasqueradeRules {
  return { sources: PrefixSet.of(sources).merged, exceptions: PrefixSet.of(exceptions).merged };
}

type NftElement =
  | string
  | { prefix: { addr: string; len: number } }
  | { range: [string, string] }
  | Record<string, never>;

interface NftSet {
  name: string;
  elem?: NftElement[];
}

function elementPrefixes(element: NftElement): Array<Prefix | undefined> {
  if (typeof element === 'string') return rangePrefixes(element, element);
  if ('range' in element) return rangePrefixes(...(element.range as [string, string]));
  if (!('prefix' in element)) return [undefined];
  const { addr, len } = element.prefix as { addr: string; len: number };
  return [parsePrefix(`${addr}/${len}`)];
}

/** Neighbouring prefixes are one range to nft, and a range may be no prefix. */
function rangePrefixes(firstText: string, lastText: string): Array<Prefix | undefined> {
  const [first, last] = [parseAddress(firstText), parseAddress(lastText)];
  if (first === undefined || last === undefined || first.family !== last.family) return [undefined];
  const { family } = first;
  const bits = familyBits(family);
  const end = last.toBigInt();
  const prefixes: Prefix[] = [];
  for (let at = first.toBigInt(); at <= end; ) {
    let hostBits = 0;
    // The largest block that starts here and does not go beyond the end.
    while (hostBits < bits && at % (2n << BigInt(hostBits)) === 0n) {
      if (at + (2n << BigInt(hostBits)) - 1n > end) break;
      hostBits++;
    }
    prefixes.push(Prefix.of(Address.fromBigInt(family, at), bits - hostBits));
    at += 1n << BigInt(hostBits);
  }
  return prefixes;
}
