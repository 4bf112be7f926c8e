import { DumpProblem, isMap, type RibDumpBuilder, textOf } from './rib-dump.ts';

/**
 * GoBGP's `gobgp global rib -j`, and `neighbor X adj-in -j`: an object by prefix,
 * each a list of paths with attributes by type number. In an adj-in nothing is
 * marked best; then every path counts as used.
 */
export function looksLikeGobgp(value: Record<string, unknown>): boolean {
  const [first] = Object.entries(value);
  if (first === undefined) return false;
  const [, paths] = first;
  return Array.isArray(paths) && paths.some((path) => isMap(path) && isMap(path.nlri));
}

export function readGobgp(value: Record<string, unknown>, builder: RibDumpBuilder): string {
  const entries = Object.entries(value);
  const marksBest = entries.some(
    ([, paths]) => Array.isArray(paths) && paths.some((path) => isMap(path) && path.best === true),
  );
  for (const [key, paths] of entries) {
    if (!Array.isArray(paths)) throw new DumpProblem(`${key} has no list of paths`);
    for (const path of paths) {
      if (!isMap(path)) throw new DumpProblem(`${key} has a path that is none`);
      const prefix = isMap(path.nlri) ? textOf(path.nlri.prefix) || key : key;
      const from = textOf(path['source-id']) || textOf(path['neighbor-ip']);
      builder.add(prefix, nextHopOf(path.attrs), !marksBest || path.best === true, {
        from: from === '<nil>' ? '' : from,
        protocol: 'bgp',
      });
    }
  }
  return 'GoBGP';
}

/** NEXT_HOP is attribute 3; of an IPv6 route it is inside MP_REACH_NLRI, attribute 14. */
function nextHopOf(attrs: unknown): string {
  if (!Array.isArray(attrs)) return '';
  for (const attr of attrs) {
    if (isMap(attr) && (attr.type === 3 || attr.type === 14)) return textOf(attr.nexthop);
  }
  return '';
}
