/** The routes of the site as a map: routers, racks, nodes; who holds what, and which way a packet takes. */
import { useRef } from 'preact/hooks';
import { plural } from '../../base/count-text.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type PageLocation, setQuery } from './location.ts';
import { type MapLine, MapLines } from './map-lines.tsx';
import {
  isTrouble,
  type MapNode,
  type MapRack,
  type MapRouter,
  type RouteMap,
  routeMap,
} from './map-model.ts';
import { type AskedWays, MapWays, toneOf, useWays } from './map-ways.tsx';
import { Empty, Mark, NodeLink, ribFlags, SameCommand } from './parts.tsx';
import { useStore } from './store.ts';

/** Up to so many nodes every rack is open. */
const fewNodes = 24;
/** With more racks a line to each would hide the map: then only what is wrong, and the way, has lines. */
const fewRacks = 6;

export function MapView({ place }: { place: PageLocation }) {
  const store = useStore();
  const frame = useRef<HTMLDivElement>(null);
  const to = place.query.get('to') ?? '';
  const asked = useWays(to, store.version('finding'));
  const map = routeMap({
    nodes: store.all('node'),
    routers: store.all('router'),
    peers: store.all('peer'),
    truth: store.map('truth'),
  });
  const nodes = map.racks.flatMap((rack) => rack.nodes);
  const isSmall = nodes.length <= fewNodes;
  const isOnlyWrong = place.query.get('only') === 'wrong';
  const toggled = new Set((place.query.get('racks') ?? '').split(',').filter(Boolean));
  const onWay = namesOnWay(asked);
  const isOpen = ({ name, nodes: held }: MapRack) =>
    isSmall !== toggled.has(name) || held.some((node) => onWay.has(node.name));
  const toggle = (name: string) => {
    if (!toggled.delete(name)) toggled.add(name);
    setQuery({ racks: [...toggled].sort().join(',') });
  };
  const shown = map.racks.filter((rack) => !isOnlyWrong || isTrouble(rack.state));
  const open = new Set(shown.filter(isOpen).map(({ name }) => name));
  const lines = linesOf(map, open, asked);
  const troubled = nodes.filter(({ state }) => isTrouble(state)).length;
  return (
    <section class="view map-view">
      <div class="view-head">
        <h1>Map</h1>
        <p class="verdict" role="status">
          {nodes.length === 0
            ? 'There are no nodes yet.'
            : troubled === 0
              ? `${plural(nodes.length, 'node')} in ${plural(map.racks.length, 'rack')}; every way is right.`
              : `${troubled} of ${plural(nodes.length, 'node')} with a wrong way or a session that is down.`}
        </p>
        <label class="map-only">
          <input
            type="checkbox"
            checked={isOnlyWrong}
            onChange={(event) => setQuery({ only: event.currentTarget.checked ? 'wrong' : '' })}
          />
          only racks with something wrong
        </label>
      </div>
      <MapWays to={to} asked={asked} />
      <div class="map-frame" ref={frame} data-nodes={nodes.length}>
        <MapLines
          frame={frame}
          lines={lines}
          version={JSON.stringify([lines, [...open], isOnlyWrong])}
        />
        <div class="map-routers">
          {map.routers.map((router) => (
            <Router key={router.name} router={router} isOnWay={onWay.has(router.name)} />
          ))}
        </div>
        <div class={`map-racks ${isSmall ? 'map-few' : 'map-many'}`}>
          {(isSmall ? shown : openFirst(shown, open)).map((rack) => (
            <Rack
              key={rack.name}
              rack={rack}
              isOpen={open.has(rack.name)}
              onToggle={() => toggle(rack.name)}
              onWay={onWay}
            />
          ))}
        </div>
        {map.routers.length === 0 && nodes.length > 0 && <Empty>No node has a BGP session.</Empty>}
        {shown.length === 0 && nodes.length > 0 && <Empty>Nothing is wrong anywhere.</Empty>}
      </div>
      <Legend />
      <SameCommand command={`cadastre doctor${ribFlags()}`} />
    </section>
  );
}

function Router({ router, isOnWay }: { router: MapRouter; isOnWay: boolean }) {
  const { name, address, asn, routes, why, sessions } = router;
  const isDown = sessions.up < sessions.all;
  return (
    <div
      class={`map-router ${routes === undefined ? 'router-unseen' : ''} ${isOnWay ? 'on-way' : ''}`}
      data-place={`router ${name}`}
    >
      <b>{name}</b>
      <span class="small muted">
        <span class="mono">{address}</span> · AS {asn}
      </span>
      <span class="map-marks">
        <Mark tone={isDown ? 'bad' : 'good'}>{`${sessions.up}/${sessions.all} sessions`}</Mark>
        {routes === undefined ? (
          <Mark tone="off">{why}</Mark>
        ) : (
          <Mark tone="calm">{plural(routes, 'route')}</Mark>
        )}
      </span>
    </div>
  );
}

function Rack(props: {
  rack: MapRack;
  isOpen: boolean;
  onToggle: () => void;
  onWay: ReadonlySet<string>;
}) {
  const { rack, isOpen, onToggle, onWay } = props;
  const { name, nodes, state, sessions } = rack;
  const wrong = nodes.filter((node) => isTrouble(node.state)).length;
  return (
    <div
      class={`map-rack rack-${state} ${isOpen ? 'rack-open' : ''}`}
      data-place={`rack ${name}`}
      data-rack={name}
    >
      <button type="button" class="map-rack-head" aria-expanded={isOpen} onClick={onToggle}>
        <b>{name}</b>
        <span class="small">
          {wrong > 0 ? (
            <span class="map-wrong">{wrong} wrong</span>
          ) : (
            <span class="map-count">{plural(nodes.length, 'node')}</span>
          )}
        </span>
      </button>
      {isOpen ? (
        <div class="map-nodes">
          {nodes.map((node) => (
            <NodeCard key={node.name} node={node} isOnWay={onWay.has(node.name)} />
          ))}
        </div>
      ) : (
        <Squares nodes={nodes} sessions={sessions} />
      )}
    </div>
  );
}

/** A folded rack: a square for each node, in the colour of its state. */
function Squares({ nodes, sessions }: Pick<MapRack, 'nodes' | 'sessions'>) {
  return (
    <div class="map-squares">
      <span class="squares" aria-hidden="true">
        {nodes.map(({ name, state }) => (
          <i key={name} class={`square square-${state}`} title={`${name}: ${words[state]}`} />
        ))}
      </span>
      <span class="small muted">
        {sessions.up}/{sessions.all}
        <span class="unseen"> sessions established</span>
      </span>
    </div>
  );
}

const words = {
  fine: 'every way is right',
  leaving: 'draining',
  down: 'a session is down',
  wrong: 'a wrong way',
  'cut-off': 'cut off',
};

function NodeCard({ node, isOnWay }: { node: MapNode; isOnWay: boolean }) {
  const { name, address, blocks, sessions, wrong, unreached, state } = node;
  const down = [...sessions].filter(([, isUp]) => !isUp).map(([router]) => router);
  return (
    <div
      class={`map-node node-state-${state} ${isOnWay ? 'on-way' : ''}`}
      data-place={`node ${name}`}
      data-node={name}
      data-state={state}
    >
      <span class="map-node-head">
        <NodeLink name={name} />
        {state !== 'fine' && (
          <Mark tone={state === 'leaving' ? 'off' : state === 'down' ? 'warn' : 'bad'}>
            {words[state]}
          </Mark>
        )}
      </span>
      <span class="mono small muted">{address}</span>
      {blocks.map((cidr) => (
        <button
          key={cidr}
          type="button"
          class="map-block mono"
          title={`the way to ${cidr}`}
          onClick={() => setQuery({ to: addressIn(cidr) })}
        >
          {cidr}
        </button>
      ))}
      {blocks.length === 0 && <span class="small muted">no block</span>}
      {grouped(wrong).map(([cidr, owner, routers]) => (
        <span key={cidr} class="small map-wrong" data-wrong={`${cidr} ${owner}`}>
          {`gets ${cidr} of ${owner} from ${routers}`}
        </span>
      ))}
      {unreached.length > 0 && (
        <span class="small map-wrong">{`not reached from ${unreached.join(', ')}`}</span>
      )}
      {down.length > 0 && (
        <span class="small map-wrong">{`no session with ${down.join(', ')}`}</span>
      )}
    </div>
  );
}

function grouped(wrong: MapNode['wrong']): Array<[cidr: string, owner: string, routers: string]> {
  const by = new Map<string, [string, string, string]>();
  for (const { cidr, owner, router } of wrong) {
    const known = by.get(cidr);
    by.set(cidr, [cidr, owner, known === undefined ? router : `${known[2]}, ${router}`]);
  }
  return [...by.values()];
}

/** Some address of the block: which pod has it does not change the way. */
function addressIn(cidr: string): string {
  const prefix = parsePrefix(cidr);
  return prefix === undefined ? cidr : prefix.first().plus(1).toString();
}

/** Among many, what is looked at stands above the rest, which stays in its rows. */
function openFirst(racks: readonly MapRack[], open: ReadonlySet<string>): MapRack[] {
  const isOpen = ({ name }: MapRack) => open.has(name);
  return [...racks.filter(isOpen), ...racks.filter((rack) => !isOpen(rack))];
}

function namesOnWay(asked: AskedWays): Set<string> {
  if (asked.kind !== 'answer') return new Set();
  return new Set(asked.answer.ways.flatMap(({ hops }) => hops.map(({ name }) => name)));
}

function linesOf({ routers, racks }: RouteMap, open: ReadonlySet<string>, asked: AskedWays) {
  const lines: MapLine[] = [];
  const isFew = racks.length <= fewRacks;
  const placeOf = new Map<string, string>();
  for (const { name, nodes } of racks) {
    for (const node of nodes) {
      placeOf.set(node.name, open.has(name) ? `node ${node.name}` : `rack ${name}`);
    }
  }
  const seen = new Set<string>();
  const add = (line: MapLine) => {
    const key = `${line.from} ${line.to} ${line.kind}`;
    if (line.from === line.to || seen.has(key)) return;
    seen.add(key);
    lines.push(line);
  };
  for (const { nodes } of racks) {
    for (const { name, sessions, wrong, state } of nodes) {
      const to = placeOf.get(name) ?? '';
      for (const { router, owner } of wrong) {
        add({ from: `router ${router}`, to, kind: 'wrong' });
        add({ from: to, to: placeOf.get(owner) ?? '', kind: 'passed-on' });
      }
      for (const router of routers) {
        const isUp = sessions.get(router.name);
        const isWrong = wrong.some((one) => one.router === router.name);
        if (isUp === undefined || isWrong) continue;
        if (!isUp) {
          if (state !== 'leaving') add({ from: `router ${router.name}`, to, kind: 'down' });
        } else if (isFew) add({ from: `router ${router.name}`, to, kind: 'session' });
      }
    }
  }
  if (asked.kind !== 'answer') return lines;
  for (const way of asked.answer.ways) {
    const kind = toneOf(way) === 'bad' ? 'way-wrong' : 'way';
    const places = way.hops.map((hop) =>
      hop.kind === 'router' ? `router ${hop.name}` : (placeOf.get(hop.name) ?? ''),
    );
    for (const [index, from] of places.entries()) {
      const next = places[index + 1];
      if (next !== undefined) add({ from, to: next, kind });
    }
  }
  return lines;
}

function Legend() {
  return (
    <ul class="map-legend" aria-label="Legend">
      <li class="legend-session">session, routes right</li>
      <li class="legend-wrong">wrong way</li>
      <li class="legend-down">session down</li>
      <li class="legend-way">the way asked for</li>
    </ul>
  );
}
