import { describe, expect, test } from 'vitest';
import type { RouterView } from './router-view.ts';
import type { BlockRow, NodeRow } from './rows.ts';
import { truthTable } from './truth-table.ts';

/** The incident: what the register gives, and what somebody else wrote into Node.spec. */
const incident = [
  ['master1', '10.4.94.32', '10.5.113.0/24', '10.5.112.0/24'],
  ['master2', '10.4.94.21', '10.5.115.0/24', '10.5.114.0/24'],
  ['master3', '10.4.94.31', '10.5.114.0/24', '10.5.113.0/24'],
  ['node1', '10.4.94.23', '10.5.112.0/24', '10.5.115.0/24'],
] as const;

function node(name: string, address: string, block: string, more: Partial<NodeRow> = {}): NodeRow {
  const announced = [{ prefix: block, nextHop: address }];
  return {
    name,
    rack: '',
    addresses: [address],
    labels: {},
    createdMs: 0,
    isLeaving: false,
    blocksState: null,
    agent: null,
    register: [block],
    spec: [],
    annotation: [],
    cilium: null,
    used: [{ cidr: block, pods: 1, resting: 0, total: '254', draining: false }],
    kernel: { wanted: 1, held: 1, ownRoutes: [block], refused: [] },
    sessions: [
      {
        peer: 'tor1',
        address: '',
        asn: 1,
        state: 'Established',
        lastError: '',
        sinceMs: 0,
        announced,
      },
    ],
    ...more,
  };
}

const block = (cidr: string, owner: string): BlockRow => ({
  cidr,
  pool: 'p',
  node: owner,
  phase: 'Active',
  sinceMs: 0,
});

function router(held: ReadonlyArray<readonly [prefix: string, nextHop: string]>): RouterView {
  return {
    name: 'tor1',
    address: '10.4.36.250',
    asn: 64524,
    isUp: true,
    sessions: [],
    held: held.map(([prefix, nextHop]) => ({
      prefix,
      nextHop,
      from: '',
      sinceMs: 0,
      isStale: false,
    })),
  };
}

const blocks = incident.map(([name, , own]) => block(own, name));

describe('the incident, prevented', () => {
  const nodes = incident.map(([name, address, own, wrong]) =>
    node(name, address, own, { spec: [wrong] }),
  );
  const held = incident.map(([, address, own]) => [own, address] as const);
  const table = truthTable({ nodes, blocks, routers: [router(held)] });

  test('every Node.spec differs, and each is joined to the node whose block it names', () => {
    expect(table.lines).toEqual([
      { node: 'master1', column: 'spec', cidr: '10.5.112.0/24', owner: 'node1' },
      { node: 'master2', column: 'spec', cidr: '10.5.114.0/24', owner: 'master3' },
      { node: 'master3', column: 'spec', cidr: '10.5.113.0/24', owner: 'master1' },
      { node: 'node1', column: 'spec', cidr: '10.5.115.0/24', owner: 'master2' },
    ]);
    expect(table.rows.every(({ disagrees }) => disagrees)).toBe(true);
    expect(table.disputed).toEqual(new Set(blocks.map(({ cidr }) => cidr)));
  });

  test('what is announced and held agrees all the same', () => {
    for (const { cells } of table.rows) {
      const states = Object.fromEntries(cells.map(({ column, state }) => [column, state]));
      expect(states).toMatchObject({
        register: 'truth',
        announced: 'agrees',
        'held tor1': 'agrees',
        agent: 'agrees',
        kernel: 'agrees',
        annotation: 'empty',
      });
    }
  });
});

test('the incident as it was: the routers hold what Node.spec says', () => {
  const nodes = incident.map(([name, address, own]) => node(name, address, own));
  const held = incident.map(([, address, , wrong]) => [wrong, address] as const);
  const table = truthTable({ nodes, blocks, routers: [router(held)] });
  expect(table.lines.map(({ column, node: from, owner }) => [column, from, owner])).toEqual([
    ['held tor1', 'master1', 'node1'],
    ['held tor1', 'master2', 'master3'],
    ['held tor1', 'master3', 'master1'],
    ['held tor1', 'node1', 'master2'],
  ]);
});

test('everything says the same: no line, no row that disagrees', () => {
  const [name, address, own] = incident[0];
  const table = truthTable({
    nodes: [node(name, address, own, { spec: [own], annotation: [own] })],
    blocks: [block(own, name)],
    routers: [router([[own, address]])],
  });
  expect(table.lines).toEqual([]);
  expect(table.rows.map(({ disagrees }) => disagrees)).toEqual([false]);
  expect(table.disputed.size).toBe(0);
});

test('what was not seen is not agreement: no report, a router that is down', () => {
  const [name, address, own] = incident[0];
  const silent = { used: null, kernel: null, sessions: [] };
  const table = truthTable({
    nodes: [node(name, address, own, silent)],
    blocks: [block(own, name)],
    routers: [{ ...router([]), isUp: false }],
  });
  const unseen = table.columns.filter(({ isSeen }) => !isSeen).map(({ id }) => id);
  expect(unseen).toEqual(['agent', 'kernel', 'announced', 'held tor1']);
  const states = table.rows[0]?.cells.filter(({ state }) => state === 'unseen');
  expect(states?.map(({ column }) => column)).toEqual(unseen);
});

test('a route that should be held and is not is missing, unless the node is leaving', () => {
  const [name, address, own] = incident[0];
  const cellOf = (isLeaving: boolean) =>
    truthTable({
      nodes: [node(name, address, own, { isLeaving })],
      blocks: [block(own, name)],
      routers: [router([])],
    }).rows[0]?.cells.find(({ column }) => column === 'held tor1')?.state;
  expect(cellOf(false)).toBe('missing');
  expect(cellOf(true)).toBe('empty');
});

test('the router of another rack need not hold it; but what it holds is judged', () => {
  const [name, address, own] = incident[0];
  const cellOf = (held: ReadonlyArray<readonly [string, string]>, more: Partial<NodeRow> = {}) => {
    const table = truthTable({
      nodes: [node(name, address, own, more)],
      blocks: [block(own, name)],
      routers: [
        router([[own, address]]),
        { ...router(held), name: 'tor9', address: '10.4.36.251' },
      ],
    });
    const state = table.rows[0]?.cells.find(({ column }) => column === 'held tor9')?.state;
    return [state, table.rows[0]?.disagrees, table.disputed.size];
  };
  expect(cellOf([])).toEqual(['empty', false, 0]);
  expect(cellOf([[own, address]])).toEqual(['agrees', false, 0]);
  expect(cellOf([['10.5.119.0/24', address]])).toEqual(['differs', true, 2]);
  // By its address, whatever the peer is called; and where nobody told, it is expected.
  const [session] = node(name, address, own).sessions;
  const other = { ...session!, peer: 'uplink', address: '10.4.36.251' };
  expect(cellOf([], { sessions: [other] })).toEqual(['missing', true, 1]);
  expect(cellOf([], { sessions: [] })).toEqual(['missing', true, 1]);
});

test('a next hop that is no node is a stray', () => {
  const table = truthTable({
    nodes: [],
    blocks: [],
    routers: [router([['10.5.112.0/24', '10.4.94.9']])],
  });
  expect(table.strays).toEqual([{ router: 'tor1', prefix: '10.5.112.0/24', nextHop: '10.4.94.9' }]);
});
