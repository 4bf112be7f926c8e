import { expect, test } from 'vitest';
import type { CellState, TruthRow } from '../../plan/doctor/truth-row.ts';
import type { RouterView } from '../router-view.ts';
import type { NodeRow } from '../rows.ts';
import { routeMap } from './map-model.ts';

const node = (name: string, rack: string, more: Partial<NodeRow> = {}): NodeRow => ({
  name,
  rack,
  addresses: [`${name}.address`],
  labels: {},
  createdMs: 0,
  isLeaving: false,
  blocksState: null,
  agent: null,
  register: [`${name}.block`],
  spec: [],
  annotation: [],
  cilium: null,
  used: null,
  kernel: null,
  sessions: [session('tor1'), session('tor2')],
  unannounced: [],
  ...more,
});

const session = (peer: string, state = 'Established') => ({
  ...{ peer, address: `${peer}.address`, asn: 64524, state, lastError: '', sinceMs: 0 },
  announced: [],
});

const router = (name: string, more: Partial<RouterView> = {}): RouterView => ({
  ...{ name, addresses: [`${name}.address`], asn: 64524, isUp: true, sessions: [], held: [] },
  ...more,
});

const truth = (
  name: string,
  state: CellState,
  others: Array<{ cidr: string; owner: string }> = [],
  reasons: TruthRow['reasons'] = [],
): [string, TruthRow] => [
  name,
  {
    node: name,
    reasons,
    cells: [
      { column: 'truth', cidrs: [`${name}.block`], state: 'truth' },
      { column: 'router tor1', cidrs: [], state, others },
    ],
  },
];

const input = { peers: [], routers: [router('tor1'), router('tor2')], truth: new Map() };

test('nodes stand in their racks, both in the order in which people count', () => {
  const { racks } = routeMap({
    ...input,
    nodes: [node('node10', 'rack-9'), node('node2', 'rack-9'), node('node1', 'rack-10')],
  });
  expect(racks.map(({ name, nodes }) => [name, nodes.map((one) => one.name)])).toEqual([
    ['rack-9', ['node2', 'node10']],
    ['rack-10', ['node1']],
  ]);
});

test('a router that leads a block to another node is a wrong way there', () => {
  const others = [{ cidr: 'a.block', owner: 'a' }];
  const { racks } = routeMap({
    ...input,
    nodes: [node('a', 'r'), node('b', 'r')],
    truth: new Map([truth('a', 'agrees'), truth('b', 'differs', others)]),
  });
  expect(racks[0]?.nodes.map(({ state, wrong }) => [state, wrong])).toEqual([
    ['fine', []],
    ['wrong', [{ router: 'tor1', cidr: 'a.block', owner: 'a' }]],
  ]);
  expect(racks[0]?.state).toBe('wrong');
});

test('a node that no router leads to is cut off, which is worse than a wrong way', () => {
  const { racks } = routeMap({
    ...input,
    nodes: [node('a', 'r')],
    truth: new Map([truth('a', 'missing', [], ['Blackhole'])]),
  });
  expect(racks[0]).toMatchObject({ state: 'cut-off', nodes: [{ unreached: ['tor1'] }] });
});

test('a session that is down shows at its node and its router, but not while a node leaves', () => {
  const sessions = [session('tor1', 'Idle'), session('tor2')];
  const { racks, routers } = routeMap({
    ...input,
    nodes: [node('a', 'r', { sessions }), node('b', 's', { sessions, isLeaving: true })],
  });
  expect(racks.map(({ state }) => state)).toEqual(['down', 'leaving']);
  expect(routers.map(({ name, sessions: { up, all } }) => [name, up, all])).toEqual([
    ['tor1', 0, 2],
    ['tor2', 2, 2],
  ]);
});

test('a router whose table nobody asked for is on the map, and says so', () => {
  const peers = [{ name: 'tor9', address: 'x', asn: 1, localAsn: 1, selector: '' }];
  const { routers } = routeMap({ ...input, routers: [], nodes: [], peers });
  expect(routers).toMatchObject([{ name: 'tor9', why: 'its table was not asked for' }]);
  expect(routers[0]?.routes).toBeUndefined();
});
