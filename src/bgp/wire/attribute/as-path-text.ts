import type { AsPath } from './path-attributes.ts';

const brackets = {
  seq: ['', '', ' '],
  set: ['{', '}', ','],
  'confed-seq': ['(', ')', ' '],
  'confed-set': ['[', ']', ','],
} as const;

/** `64513 64524 {1,2}`, the way routers print it; sets are sorted and hold each AS once. */
export function formatAsPath(path: AsPath, notation: 'asplain' | 'asdot+' = 'asplain'): string {
  return path
    .map(({ type, asns }) => {
      const [open, close, separator] = brackets[type];
      const isSet = type === 'set' || type === 'confed-set';
      const members = isSet ? [...new Set(asns)].sort((a, b) => a - b) : asns;
      return `${open}${members.map((asn) => formatAsn(asn, notation)).join(separator)}${close}`;
    })
    .join(' ');
}

/** RFC 5396. */
function formatAsn(asn: number, notation: 'asplain' | 'asdot+'): string {
  return notation === 'asplain' ? String(asn) : `${asn >>> 16}.${asn & 0xffff}`;
}
