import type { Family } from '../../net/family.ts';
import { all, holderOf, type Tree, word } from './data-tree.ts';
import { DumpProblem, isMap, type RibDumpBuilder } from './rib-dump.ts';

/**
 * NX-OS: `show ip route | json`, `show ip bgp | json` (also `json-pretty`, `xml`, and NX-API's
 * wrapping): TABLE_x holds ROW_x, a list or one alone. Routes are under TABLE_addrf, BGP paths
 * under TABLE_afi and TABLE_safi.
 */
export function looksLikeNxos(value: unknown): boolean {
  return holderOf(value, 'TABLE_vrf') !== undefined;
}

export function readNxos(value: unknown, builder: RibDumpBuilder): string {
  const holder = holderOf(value, 'TABLE_vrf');
  for (const vrf of rows(holder, 'vrf')) {
    const name = word(vrf, 'vrf-name-out', 'vrf-name') ?? 'default';
    builder.vrf(name);
    const id = word(vrf, 'vrf-router-id');
    if (id !== undefined && id !== '') builder.addresses.add(id);
    for (const family of rows(vrf, 'addrf')) {
      builder.vrf(name, familyOf(word(family, 'addrf')));
      for (const prefix of rows(family, 'prefix')) readRoute(prefix, builder);
    }
    for (const afi of rows(vrf, 'afi')) {
      for (const safi of rows(afi, 'safi')) {
        const [holding = safi] = rows(safi, 'rd');
        const what = word(safi, 'af-name') ?? '';
        if (what !== '' && !/unicast/i.test(what)) {
          throw new DumpProblem(`it is the table of ${what}, which holds no unicast routes`);
        }
        builder.vrf(name, familyOf(what));
        for (const prefix of rows(holding, 'prefix')) readBgp(prefix, builder);
      }
    }
  }
  return 'Cisco NX-OS';
}

function rows(node: unknown, name: string): Tree[] {
  return all(node, `TABLE_${name}`).flatMap((table) => all(table, `ROW_${name}`));
}

function familyOf(text: string | undefined): Family | undefined {
  if (text === undefined) return undefined;
  if (/ipv6/i.test(text)) return 'ipv6';
  return /ipv4/i.test(text) ? 'ipv4' : undefined;
}

const prefixNames = ['ipprefix', 'ipv6prefix', 'ipv6-prefix', 'prefix'];
const hopNames = ['ipnexthop', 'ipv6nexthop', 'ipv6-nexthop', 'nexthop'];
const own = /^(?:local|direct|broadcast|discard|hsrp|vrrp|glbp)$/;

function prefixOf(row: Tree): string {
  const prefix = word(row, ...prefixNames);
  if (prefix === undefined || !prefix.includes('/')) {
    throw new DumpProblem(`a row has no prefix, but ${Object.keys(row).slice(0, 5).join(', ')}`);
  }
  return prefix;
}

function readRoute(row: Tree, builder: RibDumpBuilder): void {
  const prefix = prefixOf(row);
  const paths = rows(row, 'path');
  if (paths.length === 0) throw new DumpProblem(`the route ${prefix} has no path`);
  for (const path of paths) {
    const client = word(path, 'clientname') ?? '';
    const hop = word(path, ...hopNames) ?? '';
    if (client === 'local' && hop !== '') builder.addresses.add(hop.replace(/\/.*$/, ''));
    const protocol = client === 'direct' ? 'connected' : client.replace(/-.*$/, '');
    const ubest = word(path, 'ubest');
    builder.add(prefix, own.test(client) ? '' : hop, ubest === undefined || ubest === 'true', {
      ...(protocol === '' ? {} : { protocol }),
    });
  }
}

const bestNames = ['bestcode', 'best', 'status', 'statuscode'];

function readBgp(row: Tree, builder: RibDumpBuilder): void {
  const prefix = prefixOf(row);
  const paths = rows(row, 'path');
  if (paths.length === 0) throw new DumpProblem(`the route ${prefix} has no path`);
  for (const path of paths) {
    const marks = bestNames.map((name) => word(path, name)).filter((one) => one !== undefined);
    if (marks.length === 0 || !isMap(path)) {
      throw new DumpProblem(`a path of ${prefix} does not say whether it is the best one`);
    }
    const isUsed = marks.some((mark) => /[>|]|\bbest\b|multipath/.test(mark));
    builder.add(prefix, word(path, ...hopNames) ?? '', isUsed, {
      protocol: 'bgp',
      asPath: word(path, 'aspath', 'path')?.replace(/\s*[ie?]$/, ''),
    });
  }
}
