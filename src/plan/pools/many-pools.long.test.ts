/**
 * Work is counted, not timed: every look at a field of a pool or at a node's labels is a step. With
 * twice as many pools a plan takes little more than twice as many, whatever the pools look like, and a
 * register of as many nodes, whatever they claim.
 */
import { expect, test } from 'vitest';
import { block, ciliumNodeObject, node, pool, second } from '../../../test/register/objects.ts';
import { readCiliumNode } from '../../model/cilium-node.ts';
import type { Pool } from '../../model/ip-pool.ts';
import { planAllocation } from '../blocks/allocation-plan.ts';
import { holdingSources } from '../blocks/holdings.ts';
import { Register } from '../blocks/register.ts';
import { selectingCandidates } from './pool-candidates.ts';
import { whyPool } from './why-pool.ts';

interface Counter {
  steps: number;
}

function counted<T extends object>(target: T, counter: Counter): T {
  return new Proxy(target, {
    get(from, key, receiver) {
      counter.steps++;
      return Reflect.get(from, key, receiver);
    },
  });
}

/** So many steps a whole plan takes, with the reasons that are printed with it. */
function stepsOf(count: number, makePool: (number: number, of: number) => Pool, nodes = 8): number {
  const counter: Counter = { steps: 0 };
  const register = new Register(holdingSources);
  for (let at = 0; at < count; at++) register.putPool(counted(makePool(at, count), counter));
  const names = Array.from({ length: nodes }, (_, at) => `node-${at}`);
  for (const [at, name] of names.entries()) {
    const labels = counted<Record<string, string>>({ rack: `r${at}` }, counter);
    register.putNode({ ...node(name, { addresses: [`172.16.0.${at}`] }), labels });
  }
  const plan = planAllocation(register, names, { families: 'auto', byDemand: false });
  const candidatesOf = selectingCandidates(register);
  for (const { name, blocks } of plan.nodes) {
    for (const block of blocks) whyPool(candidatesOf(register.nodes.get(name)!), block.pool);
  }
  expect(plan.nodes.every(({ blocks }) => blocks.length === 1)).toBe(true);
  // What an operator does when it has written the status of each.
  const { steps } = counter;
  for (let at = 0; at < count; at++) {
    register.putPool(counted({ ...makePool(at, count), resourceVersion: '2' }, counter));
    register.poolSet.problem(`pool-${at}`);
  }
  expect(register.poolSet.pools).toHaveLength(count);
  return counter.steps + steps;
}

const cidr = (at: number) => `10.${at >> 8}.${at & 255}.0/24`;
const born = (at: number) => ({ creationTimestamp: second(at) });

test.each<[string, (at: number, of: number) => Pool]>([
  [
    'one for each rack, in no order of age',
    (at, of) =>
      pool(`pool-${at}`, { cidrs: [cidr(at)], labels: { rack: `r${at}` } }, born((at * 7) % of)),
  ],
  ['all for every node', (at) => pool(`pool-${at}`, { cidrs: [cidr(at)] }, born(at))],
  [
    'all over the same addresses, the youngest first',
    (at, of) => pool(`pool-${at}`, { cidrs: ['10.0.0.0/8'] }, born(of - at)),
  ],
  [
    'large ones over many small ones',
    (at, of) => pool(`pool-${at}`, { cidrs: [at < of / 2 ? cidr(at) : '10.0.0.0/8'] }, born(at)),
  ],
])('twice as many pools are about twice the work: %s', (_, makePool) => {
  const [some, more] = [stepsOf(1_000, makePool), stepsOf(2_000, makePool)];
  expect(more / some).toBeLessThan(2.3);
});

test('of pools that all select every node only those are looked at that serve one', () => {
  const makePool = (at: number) => pool(`pool-${at}`, { cidrs: [cidr(at)], size: 26 }, born(at));
  const [few, many] = [stepsOf(1_000, makePool, 8), stepsOf(1_000, makePool, 80)];
  expect(many / few).toBeLessThan(1.5);
});

/** So many steps it takes to fill a register with as many nodes as pools; nobody asks in between. */
function fillingSteps(
  count: number,
  makePool: (number: number, of: number) => Pool,
  isPoolsFirst: boolean,
): number {
  const counter: Counter = { steps: 0 };
  const register = new Register(holdingSources);
  const putPools = () => {
    for (let at = 0; at < count; at++) register.putPool(counted(makePool(at, count), counter));
  };
  const claim = (name: string, cidrs: string[]) =>
    register.putCiliumNode(counted(readCiliumNode(ciliumNodeObject(name, cidrs)), counter));
  if (isPoolsFirst) putPools();
  for (let at = 0; at < count; at++) {
    const name = `node-${at}`;
    const byte = `10.${at >> 8}.${at & 255}`;
    register.putNode(counted(node(name, { addresses: [`${byte}.200`] }), counter));
    claim(name, [`${byte}.0/26`, '10.0.0.0/9']);
    register.putBlock(counted(block(`${byte}.64/26`, name, { pool: `pool-${at}` }), counter));
  }
  claim(
    'greedy',
    Array.from({ length: 40 }, (_, at) => `10.0.${at}.128/25`),
  );
  if (!isPoolsFirst) putPools();
  expect(register.blocksOfPool('pool-0').size).toBeGreaterThan(0);
  expect(register.refusedNodes()).toHaveLength(count + 1);
  return counter.steps;
}

const layouts: ReadonlyArray<[string, (at: number, of: number) => Pool]> = [
  ['one for each node', (at) => pool(`pool-${at}`, { cidrs: [cidr(at)], size: 26 }, born(at))],
  [
    'all over the same addresses, the youngest first',
    (at, of) => pool(`pool-${at}`, { cidrs: ['10.0.0.0/8'], size: 26 }, born(of - at)),
  ],
];

test.each(
  layouts.flatMap(([name, makePool]) => [
    { order: 'after the nodes', name, makePool, isPoolsFirst: false },
    { order: 'before the nodes', name, makePool, isPoolsFirst: true },
  ]),
)('so are as many nodes that claim: $name, $order', ({ makePool, isPoolsFirst }) => {
  const steps = (count: number) => fillingSteps(count, makePool, isPoolsFirst);
  const [some, more] = [steps(250), steps(500)];
  expect(more / some).toBeLessThan(2.3);
});
