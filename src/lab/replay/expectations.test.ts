import { expect, test } from 'vitest';
import { addressesInTwoPlaces } from './agent-books.ts';
import {
  awaitsWitness,
  blockAwaits,
  blockIs,
  figureAtMost,
  isOrphan,
  noAddressInTwoPlaces,
  nodesHaveABlock,
  noPingLost,
  noRouteLeft,
  podsAnswer,
  podsAreSilent,
  routersHold,
  routersHoldTheRegister,
  serviceIsReachedThrough,
  tracePasses,
} from './expectations.ts';
import type { Observation } from './observation.ts';

const pings = { sent: 20, lost: 0, longestSeconds: 0 };
const pod = {
  name: 'a-1',
  node: 'a',
  address: '10.5.0.2',
  isAnswering: true,
  isSilent: false,
  pings,
};

const good: Observation = {
  routers: {
    r1: [
      { prefix: '10.5.0.0/24', nextHop: '10.4.0.1' },
      { prefix: '10.5.1.0/24', nextHop: '10.4.36.2' },
    ],
  },
  blocks: [
    { cidr: '10.5.0.0/24', node: 'a', phase: 'Active' },
    { cidr: '10.5.1.0/24', node: 'b', phase: 'Active' },
    { cidr: '10.5.2.0/24', node: 'c', phase: 'Cooling' },
  ],
  pods: [pod],
  routeEvents: [],
  figures: {},
  nodeOf: { '10.4.0.1': 'a', '10.4.0.2': 'b' },
  traces: { 'x to y': ['10.4.0.1', 'y'] },
  leader: 'operator-1',
  notes: {},
};

const seen = (change: Partial<Observation>): Observation => ({ ...good, ...change });

test('the register: a block at the wrong node, too much and too little are each told', () => {
  const { judge } = routersHoldTheRegister();
  expect(judge(good)).toBeUndefined();
  const at = (prefix: string, nextHop: string) =>
    seen({ routers: { r1: [good.routers.r1![1]!, { prefix, nextHop }] } });
  expect(judge(at('10.5.0.0/24', '10.4.0.2'))).toBe(
    'r1 holds 10.5.0.0/24 via 10.4.0.2, which differs from the register',
  );
  expect(
    judge(
      seen({
        routers: { r1: [...good.routers.r1!, { prefix: '10.5.2.0/24', nextHop: '10.4.0.1' }] },
      }),
    ),
  ).toBe('r1 holds 10.5.2.0/24 via 10.4.0.1, which differs from the register');
  expect(judge(seen({ routers: { r1: good.routers.r1!.slice(1) } }))).toBe('r1 lacks 10.5.0.0/24');
  expect(
    routersHoldTheRegister(['a']).judge(seen({ routers: { r1: good.routers.r1!.slice(1) } })),
  ).toBeUndefined();
});

test('exactly these routes, in any router', () => {
  const wanted = { '10.5.0.0/24': '10.4.0.1', '10.5.1.0/24': '10.4.36.2' };
  expect(routersHold(wanted).judge(good)).toBeUndefined();
  expect(routersHold({}).judge(good)).toContain('r1 holds 10.5.0.0/24 via 10.4.0.1');
  expect(isOrphan('10.5.0.0/24', '10.4.0.1', 'gone').judge(good)).toBeUndefined();
  expect(isOrphan('10.5.9.0/24', '10.4.0.1', 'gone').judge(good)).toBe(
    'r1 does not hold 10.5.9.0/24',
  );
});

test('pods: who is not asked has proved nothing', () => {
  expect(podsAnswer().judge(good)).toBeUndefined();
  expect(podsAnswer().judge(seen({ pods: [] }))).toBe('there is no such pod');
  expect(podsAnswer(['a']).judge(good)).toBe('there is no such pod');
  expect(podsAreSilent(['a']).judge(good)).toBe('a-1 (10.5.0.2) still answers');
  expect(noPingLost().judge(good)).toBeUndefined();
  expect(noPingLost().judge(seen({ pods: [{ ...pod, pings: { ...pings, sent: 0 } }] }))).toContain(
    'was never pinged',
  );
  expect(noPingLost().judge(seen({ pods: [{ ...pod, pings: { ...pings, lost: 2 } }] }))).toBe(
    'a-1 (10.5.0.2) lost 2 of 20',
  );
});

test('a route that was gone for a moment is told', () => {
  expect(noRouteLeft().judge(good)).toBeUndefined();
  const event = { router: 'r1', prefix: '10.5.0.0/24', nextHop: '10.4.0.1' };
  const back = [
    { ...event, change: 'removed' as const },
    { ...event, change: 'set' as const },
  ];
  expect(noRouteLeft().judge(seen({ routeEvents: back }))).toBe('10.5.0.0/24 left r1');
});

test('blocks and ways', () => {
  expect(blockIs('10.5.2.0/24', 'Cooling', 'c').judge(good)).toBeUndefined();
  expect(blockIs('10.5.2.0/24', 'Active', 'c').judge(good)).toBe('it is Cooling, of c');
  expect(blockIs('10.5.9.0/24', 'Active', 'c').judge(good)).toBe('the register has no 10.5.9.0/24');
  expect(nodesHaveABlock(['a', 'b']).judge(good)).toBeUndefined();
  expect(nodesHaveABlock(['a', 'c']).judge(good)).toBe('c has 0');
  const twice = [...good.blocks, { cidr: '10.5.3.0/24', node: 'a', phase: 'Active' }];
  expect(nodesHaveABlock(['a']).judge(seen({ blocks: twice }))).toBe('a has 2');
  expect(tracePasses('x to y', ['10.4.0.1', 'y']).judge(good)).toBeUndefined();
  expect(tracePasses('x to y', ['y']).judge(good)).toBe('it was 10.4.0.1 → y');
  expect(tracePasses('y to x', []).judge(good)).toBe('there was no trace');
});

test('a block that awaits a witness names the command that cures it', () => {
  const cure = 'cadastre blocks release 10.5.2.0/24';
  const { judge } = blockAwaits('10.5.2.0/24', cure);
  const awaits = (words: string) => [
    { cidr: '10.5.2.0/24', node: 'c', phase: 'Cooling', awaits: words },
  ];
  expect(judge(good)).toBe('it does not say so');
  expect(judge(seen({ blocks: awaits('nobody knows') }))).toBe('it says: nobody knows');
  expect(judge(seen({ blocks: awaits(`do it: ${cure}`) }))).toBeUndefined();
});

test('a figure that was not measured has proved nothing', () => {
  const { judge } = figureAtMost('lost', () => 2, 'little is lost');
  expect(judge(good)).toBe('it was not measured');
  expect(judge(seen({ figures: { lost: 2 } }))).toBeUndefined();
  expect(judge(seen({ figures: { lost: 3 } }))).toBe('lost: 3, and the limit is 2');
});

test('an address in the books of two agents', () => {
  const book = (node: string, ...addresses: string[]) => ({ node, blocks: [], addresses });
  const books = [book('a', '10.5.0.2', '10.5.0.3'), book('b', '10.5.0.3'), book('c', '10.5.0.4')];
  expect(addressesInTwoPlaces(books)).toEqual(['10.5.0.3']);
  expect(addressesInTwoPlaces(books.slice(1))).toEqual([]);
});

test('addresses of Services stand beside the register, and lead to a node', () => {
  const route = { prefix: '10.6.0.1/32', nextHop: '10.4.0.2' };
  const held = seen({ routers: { r1: [...good.routers.r1!, route] }, services: ['10.6.0.1/32'] });
  expect(routersHoldTheRegister().judge(held)).toBeUndefined();
  expect(routersHoldTheRegister().judge({ ...held, services: [] })).toContain('10.6.0.1/32');
  expect(serviceIsReachedThrough('10.6.0.1/32', ['a', 'b']).judge(held)).toBeUndefined();
  expect(serviceIsReachedThrough('10.6.0.1/32', ['a']).judge(held)).toBe('r1 reaches it through b');
  expect(serviceIsReachedThrough('10.6.0.9/32', ['a']).judge(held)).toBe(
    'r1 does not hold 10.6.0.9/32',
  );
});

test("a block awaits a witness while it cools, and is nobody else's", () => {
  const of = (phase: string, says: { awaits?: string }) =>
    awaitsWitness('c').judge({
      ...good,
      blocks: [{ cidr: '10.5.2.0/24', node: 'c', phase, ...says }],
    });
  expect(of('Cooling', { awaits: 'nobody says that c does not use it' })).toBeUndefined();
  expect(of('Cooling', {})).toBe('10.5.2.0/24 is Cooling');
  expect(of('Active', {})).toBe('10.5.2.0/24 is Active');
  expect(awaitsWitness('d').judge(good)).toBe('d has no block');
});

test('no address in two places can only be said by somebody who has looked', () => {
  const { judge } = noAddressInTwoPlaces();
  expect(judge(good)).toBe('nobody has looked');
  expect(judge({ ...good, twoPlaces: [] })).toBeUndefined();
  expect(judge({ ...good, twoPlaces: ['x at a, x at b'] })).toBe('x at a, x at b');
});
