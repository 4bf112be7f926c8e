import { DumpProblem, isMap, type RibDumpBuilder, textOf } from './rib-dump.ts';

/**
 * OpenBGPD's `bgpctl -j show rib [detail|best|…]`: a list of paths of both
 * families. A path marked `ecmp` is as good as the best one, but not used:
 * OpenBGPD installs one.
 */
export function looksLikeOpenbgpd(value: Record<string, unknown>): boolean {
  return Array.isArray(value.rib);
}

export function readOpenbgpd(value: Record<string, unknown>, builder: RibDumpBuilder): string {
  for (const path of value.rib as unknown[]) {
    if (!isMap(path)) throw new DumpProblem('an entry of "rib" is no path');
    const { best, valid, neighbor } = path;
    const isUsed = best === true && valid !== false;
    const from = isMap(neighbor) ? textOf(neighbor.bgp_id) || textOf(neighbor.remote_addr) : '';
    const nextHop = path.source === 'static' ? '' : textOf(path.exit_nexthop);
    const asPath = typeof path.aspath === 'string' ? path.aspath : undefined;
    builder.add(textOf(path.prefix), nextHop, isUsed, { from, protocol: 'bgp', asPath });
  }
  return 'OpenBGPD';
}
