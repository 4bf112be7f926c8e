/** The map of routes: routers above, racks with their nodes below. Pure; what is wrong is a finding's word. */
import type { TruthRow } from '../../plan/doctor/truth-row.ts';
import type { RouterView } from '../router-view.ts';
import type { NodeRow, PeerRow } from '../rows.ts';

export interface MapRouter {
  name: string;
  address: string;
  asn: number;
  /** Absent: what it holds is not known, and why. */
  routes?: number;
  why: string;
  sessions: { up: number; all: number };
}

/** A router sends a block of another node here. */
export interface WrongWay {
  router: string;
  cidr: string;
  owner: string;
}

export interface MapNode {
  name: string;
  rack: string;
  address: string;
  blocks: readonly string[];
  /** By router: whether the session is established. */
  sessions: ReadonlyMap<string, boolean>;
  wrong: readonly WrongWay[];
  /** Routers that lack a block of its own, or lead it elsewhere. */
  unreached: readonly string[];
  /** The worst of it. */
  state: MapState;
}

/**
 * `cut-off`: no router leads to it; `wrong`: a router leads its block elsewhere, or another's
 * here; `down`: a session is not established.
 */
export type MapState = 'fine' | 'leaving' | 'down' | 'wrong' | 'cut-off';
const worstFirst: readonly MapState[] = ['cut-off', 'wrong', 'down', 'leaving', 'fine'];

export interface MapRack {
  name: string;
  nodes: readonly MapNode[];
  state: MapState;
  sessions: { up: number; all: number };
}

export interface RouteMap {
  routers: readonly MapRouter[];
  racks: readonly MapRack[];
}

export interface MapInput {
  nodes: readonly NodeRow[];
  routers: readonly RouterView[];
  peers: readonly PeerRow[];
  truth: ReadonlyMap<string, TruthRow>;
}

export function routeMap(input: MapInput): RouteMap {
  const routerNames = new Map(input.routers.map(({ name }) => [`router ${name}`, name]));
  const nodes = input.nodes.map((node) => mapNode(node, input.truth.get(node.name), routerNames));
  const racks = new Map<string, MapNode[]>();
  for (const node of nodes.sort(byName))
    racks.set(node.rack, [...(racks.get(node.rack) ?? []), node]);
  return {
    routers: mapRouters(input),
    racks: [...racks]
      .map(([name, held]): MapRack => {
        const sessions = held.flatMap((node) => [...node.sessions.values()]);
        return {
          name,
          nodes: held,
          state: worst(held.map(({ state }) => state)),
          sessions: { up: sessions.filter(Boolean).length, all: sessions.length },
        };
      })
      .sort(byName),
  };
}

/** A path is blocked by the worst of its parts. */
export function worst(states: readonly MapState[]): MapState {
  return worstFirst.find((state) => states.includes(state)) ?? 'fine';
}

export function isTrouble(state: MapState): boolean {
  return state === 'cut-off' || state === 'wrong' || state === 'down';
}

const isRed = (state: string) => state === 'differs' || state === 'missing' || state === 'conflict';

function mapNode(
  { name, rack, addresses, sessions, register, isLeaving }: NodeRow,
  truth: TruthRow | undefined,
  routerNames: ReadonlyMap<string, string>,
): MapNode {
  const wrong: WrongWay[] = [];
  const unreached: string[] = [];
  for (const { column, state, others = [] } of truth?.cells ?? []) {
    const router = routerNames.get(column);
    if (router === undefined || !isRed(state)) continue;
    for (const { cidr, owner } of others) wrong.push({ router, cidr, owner });
    if (others.length === 0 || state === 'missing') unreached.push(router);
  }
  const isUp = new Map(sessions.map(({ peer, state }) => [peer, state === 'Established']));
  const isCutOff = truth?.reasons.some((one) => one === 'Blackhole' || one === 'WrongNextHop');
  const isDown = [...isUp.values()].includes(false);
  const state: MapState = isCutOff
    ? 'cut-off'
    : wrong.length > 0 || unreached.length > 0
      ? 'wrong'
      : isDown && !isLeaving
        ? 'down'
        : isLeaving
          ? 'leaving'
          : 'fine';
  return {
    name,
    rack: rack === '' ? 'no rack' : rack,
    address: addresses[0] ?? '',
    blocks: truth?.cells[0]?.cidrs ?? register,
    sessions: isUp,
    wrong,
    unreached,
    state,
  };
}

/** Those that nodes have sessions with, and those that were asked. */
function mapRouters({ nodes, routers, peers }: MapInput): MapRouter[] {
  const found = new Map<string, MapRouter>();
  const add = (name: string, address: string, asn: number) => {
    const seen = routers.find((one) => one.name === name || one.addresses.includes(address));
    const key = seen?.name ?? name;
    const known = found.get(key);
    if (known !== undefined) return known;
    const why = seen === undefined ? 'its table was not asked for' : (seen.why ?? 'it is down');
    const router: MapRouter = {
      ...{ name: key, address, asn, why: seen?.isUp === true ? '' : why },
      ...(seen?.isUp === true ? { routes: seen.held.length } : {}),
      sessions: { up: 0, all: 0 },
    };
    found.set(key, router);
    return router;
  };
  for (const { name, address, asn } of peers) add(name, address, asn);
  for (const { sessions } of nodes) {
    for (const { peer, address, asn, state } of sessions) {
      const router = add(peer, address, asn);
      router.sessions.all += 1;
      if (state === 'Established') router.sessions.up += 1;
    }
  }
  for (const { name, addresses, asn } of routers) add(name, addresses[0] ?? '', asn);
  return [...found.values()].sort(byName);
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name.localeCompare(b.name, 'en', { numeric: true });
}
