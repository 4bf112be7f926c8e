import type { Family } from '../../net/family.ts';

/** `inet.0`, `RED.inet6.0`: the VRF and the family; undefined for a table of other things. */
export function junosTable(name: string): { vrf: string; family: Family } | undefined {
  const found = /^(?:(.+)\.)?inet(6)?\.0$/.exec(name);
  if (found === null) return undefined;
  return { vrf: found[1] ?? '', family: found[2] === undefined ? 'ipv4' : 'ipv6' };
}

const protocols: Readonly<Record<string, string>> = {
  direct: 'connected',
  'is-is': 'isis',
  'l-isis': 'isis',
  ospf3: 'ospf',
  ospf2: 'ospf',
};

export function junosProtocol(text: string): string {
  const name = text.toLowerCase();
  return protocols[name] ?? name;
}

/** `65001 65002 I, validation-state: unverified`, `(65001) I`: without what follows the path. */
export function junosAsPath(text: string): string {
  return text
    .replace(/,? ?validation-state:.*$/i, '')
    .replace(/^AS path: /, '')
    .replace(/\b(?:Recorded|Aggregator:?.*)$/, '')
    .trim()
    .replace(/\s*\b[IE?]$|\s*\?$/, '')
    .trim();
}
