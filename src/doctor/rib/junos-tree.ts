import { all, holderOf, type Tree, word } from './data-tree.ts';
import { junosAsPath, junosProtocol, junosTable } from './junos-tables.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/** Junos: `show route | display json` (or `xml`), `terse` and `detail` too: the same tree. */
export function looksLikeJunosTree(value: unknown): boolean {
  return (
    holderOf(value, 'route-table') !== undefined ||
    holderOf(value, 'route-information') !== undefined
  );
}

export function readJunosTree(value: unknown, builder: RibDumpBuilder): string {
  for (const table of all(holderOf(value, 'route-table'), 'route-table')) {
    const name = word(table, 'table-name') ?? '';
    const found = junosTable(name);
    if (found === undefined) continue;
    builder.vrf(found.vrf, found.family);
    for (const route of all(table, 'rt')) readRoute(route, builder);
  }
  return 'Junos';
}

function readRoute(route: Tree, builder: RibDumpBuilder): void {
  const destination = word(route, 'rt-destination') ?? '';
  const length = word(route, 'rt-prefix-length');
  const prefix = destination.includes('/') ? destination : `${destination}/${length ?? ''}`;
  if (!builder.isPrefix(prefix))
    throw new DumpProblem(`${JSON.stringify(prefix)} is no destination`);
  for (const entry of all(route, 'rt-entry')) {
    const protocol = junosProtocol(word(entry, 'protocol-name') ?? '');
    const tag = word(entry, 'active-tag') ?? '';
    const isUsed = /[*+#]/.test(tag) || (tag === '' && all(entry, 'current-active').length > 0);
    const asPath = word(entry, 'as-path');
    const from = word(entry, 'learned-from', 'peer-id');
    // Discard, Reject and the like have a type and no next hop.
    const hops = all(entry, 'nh').map((nh) => word(nh, 'to') ?? '');
    if (protocol === 'local' && /\/(?:32|128)$/.test(prefix)) {
      builder.addresses.add(prefix.slice(0, prefix.indexOf('/')));
    }
    for (const hop of hops.length > 0 ? hops : ['']) {
      builder.add(prefix, hop, isUsed, {
        ...(protocol === '' ? {} : { protocol }),
        ...(from === undefined ? {} : { from }),
        ...(asPath === undefined ? {} : { asPath: junosAsPath(asPath) }),
      });
    }
  }
}
