import { canonicalAddress } from '../doctor/next-hops.ts';
import { listOf, present } from './answer-parts.ts';
import type { ClusterIndex } from './cluster-index.ts';
import { link, plain, type SubjectAnswer } from './subject.ts';

/** A router: the nodes that have sessions with it, and what it holds. */
export function describeRouter(index: ClusterIndex, name: string): SubjectAnswer | undefined {
  const router = index.routers.get(name);
  if (router === undefined) return undefined;
  const { survey } = index;
  const own = new Set(router.addresses.map(canonicalAddress));
  const sessions = [...survey.nodes.values()].flatMap(({ node, report }) =>
    (report?.status?.sessions ?? [])
      .filter(({ peer, address }) => peer === name || own.has(canonicalAddress(address)))
      .map((session) => ({ node: node.name, ...session })),
  );
  const up = sessions.filter(({ state }) => state === 'Established').length;
  const view = survey.views.find((one) => one.isRouter && one.name === name);
  const routes = [...(view?.routes.values() ?? [])].sort((a, b) => a.prefix.compare(b.prefix));
  const asns = router.asn === undefined ? [] : [plain(`AS ${router.asn}`)];
  return {
    subject: { kind: 'router', name },
    summary: `router ${name}: ${up} of ${sessions.length} sessions with nodes are up`,
    facts: present([
      ['address', router.addresses.map(plain)],
      ['autonomous system', asns],
      ['sessions up', plain(`${up} of ${sessions.length}`)],
      ['table', plain(view === undefined ? 'not seen' : `${routes.length} prefixes`)],
    ]),
    lists: [
      listOf('Sessions', ['node', 'state', 'announced', 'last error'], sessions, (session) => [
        link('node', session.node),
        plain(session.state),
        plain(session.announced.map(({ prefix }) => prefix).join(', ') || 'nothing'),
        plain(session.state === 'Established' ? '' : (session.lastError ?? '')),
      ]),
      ...(view === undefined
        ? []
        : [
            listOf('In its table', ['prefix', 'next hop', 'leads to'], routes, ({ key, paths }) => [
              link(survey.owners.has(key) ? 'block' : 'prefix', key),
              plain(paths.map(({ nextHop }) => nextHop || 'itself').join(', ')),
              ...paths
                .slice(0, 1)
                .map(({ hop }) => (hop.kind === 'node' ? link('node', hop.node) : plain('–'))),
            ]),
          ]),
    ],
    cidrs: [],
  };
}
