import type { Evidence } from './evidence.ts';

/** More columns of what nobody asked say less than one. */
const mostNames = 4;

/**
 * Routers that nodes have sessions with and that nobody asked what they hold, by the names of
 * their peers. A dump often does not say which router it is of: where one of those was shown
 * under a name of its own, it may be any of them, and none is named.
 */
export function unaskedRouters({ peers, reports, routers }: Evidence): string[] {
  const names = new Map<string, string>();
  for (const { name, address } of peers) names.set(address, name);
  for (const { status } of reports) {
    for (const { peer, address } of status?.sessions ?? []) {
      if (!names.has(address)) names.set(address, peer);
    }
  }
  const known = new Set(names.values());
  if (routers.some(({ router, addresses }) => addresses.length === 0 && !known.has(router))) {
    return [];
  }
  const asked = new Set(routers.flatMap(({ router, addresses }) => [router, ...addresses]));
  const unasked = [...names].filter(([address, name]) => !asked.has(address) && !asked.has(name));
  if (names.size === 0) return routers.length === 0 ? ['Routers'] : [];
  const left = [...new Set(unasked.map(([, name]) => name))].sort();
  return left.length > mostNames ? [`${left.length} routers`] : left;
}
