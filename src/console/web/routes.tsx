/** Sessions of nodes with routers, and whether what a node advertises is in the router's table. */
import { ageText } from '../../base/age-text.ts';
import type { RouterView } from '../router-view.ts';
import type { NodeRow, SessionRow } from '../rows.ts';
import { DenseSessions } from './dense-sessions.tsx';
import { type PageLocation, setQuery, subjectAddress } from './location.ts';
import {
  Age,
  BlockLink,
  Empty,
  Filter,
  Mark,
  NodeLink,
  SameCommand,
  Scroll,
  TableHead,
  UnannouncedReasons,
  useNow,
} from './parts.tsx';
import { type RowStore, useStore } from './store.ts';
import { blocksOf } from './use-truth.ts';

const mostRows = 24;

function SquareLegend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <i class="square-good" /> up
      </li>
      <li>
        <i class="square-warn" /> up, but its table differs
      </li>
      <li>
        <i class="square-bad" /> not up
      </li>
    </ul>
  );
}

export function Routes({ place }: { place: PageLocation }) {
  const store = useStore();
  const now = useNow();
  const wanted = (place.query.get('filter') ?? '').trim().toLowerCase();
  const onlyDown = place.query.get('only') === 'down';
  const nodes = store
    .all('node')
    .filter(({ name, rack, sessions }) => {
      const isWanted = `${name} ${rack}`.toLowerCase().includes(wanted);
      return isWanted && (!onlyDown || sessions.some(({ state }) => state !== 'Established'));
    })
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const peers = peersOf(store);
  // A row for each is for few; with a filter that leaves few there are rows again.
  const isDense = nodes.length > mostRows;
  const chosenNode = place.query.get('node') ?? '';
  const chosenPeer = place.query.get('peer') ?? '';
  return (
    <section class="view">
      <div class="view-head">
        <h1>Routes</h1>
        <Filter
          label="Filter"
          value={place.query.get('filter') ?? ''}
          onInput={(filter) => setQuery({ filter })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyDown}
            onChange={(event) => setQuery({ only: event.currentTarget.checked ? 'down' : '' })}
          />
          only what is not up
        </label>
        {isDense && <SquareLegend />}
      </div>
      <div class="routes-body">
        <Scroll class="scroll tall" label="Nodes and peers">
          {isDense ? (
            <DenseSessions
              nodes={nodes}
              routerOf={(name) => peers.find((peer) => peer.name === name)?.router}
              toneOf={toneOf}
              chosen={{ node: chosenNode, peer: chosenPeer }}
            />
          ) : (
            <table class="matrix">
              <thead>
                <tr>
                  <th scope="col">node</th>
                  {peers.map((peer) => (
                    <th scope="col" key={peer.name}>
                      <PeerHead {...peer} />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {nodes.map((node) => (
                  <tr key={node.name}>
                    <th scope="row">
                      <NodeLink name={node.name} />
                    </th>
                    {peers.map(({ name, router }) => {
                      const session = node.sessions.find(({ peer }) => peer === name);
                      const isChosen = chosenNode === node.name && chosenPeer === name;
                      return (
                        <td key={name}>
                          {session === undefined ? (
                            <span class="muted">not a peer</span>
                          ) : (
                            <button
                              type="button"
                              class={`cell cell-${toneOf(session, node, router)}`}
                              aria-pressed={isChosen}
                              onClick={() =>
                                setQuery(
                                  isChosen
                                    ? { node: '', peer: '' }
                                    : { node: node.name, peer: name },
                                )
                              }
                            >
                              <span>{session.state}</span>
                              <span class="cell-age">{ageText(now - session.sinceMs)}</span>
                              <span class="cell-count">{countWords(session, node, router)}</span>
                            </button>
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          {store.map('node').size === 0 ? (
            <Empty>There are no nodes yet.</Empty>
          ) : peers.length === 0 ? (
            <Empty>No node has a BGP session.</Empty>
          ) : (
            nodes.length === 0 && <Empty>No node matches.</Empty>
          )}
        </Scroll>
        <Comparison
          node={store.map('node').get(chosenNode)}
          peer={peers.find(({ name }) => name === chosenPeer)}
          now={now}
        />
      </div>
      <SameCommand command={chosenNode === '' ? 'cadastre bgp peers' : 'cadastre bgp routes'} />
    </section>
  );
}

interface PeerColumn {
  name: string;
  address: string;
  asn: number;
  /** What the router itself says, where it can be asked. */
  router: RouterView | undefined;
}

function peersOf(store: RowStore): PeerColumn[] {
  const found = new Map<string, PeerColumn>();
  const add = (name: string, address: string, asn: number) => {
    const router = store
      .all('router')
      .find((one) => one.name === name || one.addresses.includes(address));
    if (!found.has(name)) found.set(name, { name, address, asn, router });
  };
  for (const { name, address, asn } of store.all('peer')) add(name, address, asn);
  for (const { sessions } of store.all('node')) {
    for (const { peer, address, asn } of sessions) add(peer, address, asn);
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function PeerHead({ name, address, asn, router }: PeerColumn) {
  return (
    <span class="peer-head">
      <a class="name" href={subjectAddress({ kind: 'router', name })}>
        {name}
      </a>
      <span class="muted mono">{`${address} · AS ${asn}`}</span>
      {router === undefined ? (
        <Mark tone="off">table not seen</Mark>
      ) : router.isUp ? (
        <Mark tone="good">{`${router.held.length} routes`}</Mark>
      ) : (
        <Mark tone={router.why === undefined ? 'bad' : 'off'}>{router.why ?? 'down'}</Mark>
      )}
    </span>
  );
}

function heldFrom(node: NodeRow, router: RouterView | undefined): RouterView['held'] {
  return (router?.held ?? []).filter(
    ({ nextHop, from }) => node.addresses.includes(nextHop) || from === node.name,
  );
}

function toneOf(session: SessionRow, node: NodeRow, router: RouterView | undefined): string {
  if (session.state !== 'Established') return 'bad';
  if (router === undefined || !router.isUp) return 'good';
  const advertised = session.announced.map(({ prefix }) => prefix).sort();
  const held = heldFrom(node, router)
    .map(({ prefix }) => prefix)
    .sort();
  return advertised.join() === held.join() ? 'good' : 'warn';
}

function countWords(session: SessionRow, node: NodeRow, router: RouterView | undefined): string {
  const advertised = session.announced.length;
  if (router === undefined || !router.isUp) return `${advertised} advertised`;
  return `${advertised} advertised, ${heldFrom(node, router).length} in its table`;
}

function Comparison(props: {
  node: NodeRow | undefined;
  peer: PeerColumn | undefined;
  now: number;
}) {
  const { node, peer, now } = props;
  if (node === undefined || peer === undefined) {
    return (
      <aside class="card beside-card">
        <h2>Route by route</h2>
        <p class="muted">
          Choose a session: what the node advertises stands beside the router's table.
        </p>
      </aside>
    );
  }
  const session = node.sessions.find(({ peer: name }) => name === peer.name);
  const held = new Map(heldFrom(node, peer.router).map((route) => [route.prefix, route]));
  const advertised = new Map((session?.announced ?? []).map((route) => [route.prefix, route]));
  const prefixes = [...new Set([...blocksOf(node), ...advertised.keys(), ...held.keys()])].sort();
  return (
    <aside class="card beside-card" aria-live="polite">
      <h2>
        {node.name} → {peer.name}
      </h2>
      <p>
        <Mark tone={session?.state === 'Established' ? 'good' : 'bad'}>
          {session?.state ?? 'none'}
        </Mark>{' '}
        {session && (
          <>
            for <Age sinceMs={session.sinceMs} now={now} />
          </>
        )}
        {session?.lastError && <span class="muted"> · {session.lastError}</span>}
      </p>
      <table>
        <TableHead columns={['route', 'registered', 'advertised', 'in its table']} />
        <tbody>
          {prefixes.map((prefix) => {
            const route = held.get(prefix);
            return (
              <tr key={prefix}>
                <th scope="row">
                  <BlockLink cidr={prefix} />
                </th>
                <td>
                  {blocksOf(node).includes(prefix) ? (
                    <Mark tone="good">yes</Mark>
                  ) : (
                    <Mark tone="bad">no</Mark>
                  )}
                </td>
                <td>
                  {advertised.get(prefix) === undefined ? (
                    <>
                      <Mark tone="warn">no</Mark>
                      <UnannouncedReasons node={node} cidr={prefix} peer={peer.name} />
                    </>
                  ) : (
                    <span class="mono">{advertised.get(prefix)?.nextHop}</span>
                  )}
                </td>
                <td class="mono">
                  {peer.router === undefined || peer.router.why !== undefined ? (
                    <Mark tone="off">not seen</Mark>
                  ) : route === undefined ? (
                    <Mark tone="warn">no</Mark>
                  ) : (
                    <>
                      {route.nextHop}{' '}
                      {route.sinceMs > 0 && <Age sinceMs={route.sinceMs} now={now} />}
                      {route.isStale && <Mark tone="warn">stale</Mark>}
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {prefixes.length === 0 && <Empty>Nothing is registered, advertised or in its table.</Empty>}
    </aside>
  );
}
