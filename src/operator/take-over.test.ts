import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { Register } from '../plan/blocks/register.ts';
import type { StoreMemory } from './restore-watch.ts';
import { TakeOver } from './take-over.ts';
import type { Term } from './terms.ts';
import type { OperatorQueues } from './work-queue.ts';

/** A leader in a term, on a register without nodes; lists are answered when the test says so. */
function leader() {
  const register = new Register([]);
  const term: Term = {
    sinceMs: 0,
    isServing: true,
    mayAdopt: false,
    hasAdopted: false,
    doubt: undefined,
    waitsFor: undefined,
    isOver: false,
  };
  const restores = {
    memory: undefined as StoreMemory | undefined,
    notices: 0,
    settled(notices: number) {
      if (notices === this.notices) this.memory = undefined;
    },
  };
  const lists: Array<() => void> = [];
  const queue = { add: () => {}, idle: async () => {} };
  const takeOver = new TakeOver({
    register,
    rules: { families: new Set(['ipv4']) } as never,
    caches: {
      relistBlocks: async () => {},
      relistAll: () => new Promise<void>((resolve) => void lists.push(resolve)),
    },
    restores,
    settleMs: 1_000,
    queues: { nodes: queue, blocks: queue, pools: queue } as unknown as OperatorQueues,
    reporter: { event: () => {} },
    clock: systemClock,
    log: silentLog,
  });
  const notice = () => {
    restores.notices += 1;
    restores.memory ??= { reports: new Map(), blocks: [] };
    takeOver.startOver(term);
  };
  return { term, takeOver, lists, notice };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a first term adopts, and then assigns', async () => {
  const { term, takeOver } = leader();
  await takeOver.run(term, 0);
  expect(term).toMatchObject({ mayAdopt: true, hasAdopted: true });
});

/**
 * The blocks were found to be lost before the Nodes were listed: one that the cache still has
 * may be gone from the store, and its block, adopted for it, would cool under its pods.
 */
test('when the store went back in time nothing is adopted before all is listed afresh', async () => {
  const { term, takeOver, lists, notice } = leader();
  await takeOver.run(term, 0);
  notice();
  await settled();
  expect(lists).toHaveLength(1);
  expect(term).toMatchObject({ mayAdopt: false, hasAdopted: false });
  lists[0]!();
  await settled();
  expect(term).toMatchObject({ mayAdopt: true, hasAdopted: true });
});

test('the signs of the lists themselves need no second round, a later one does', async () => {
  const { term, takeOver, lists, notice } = leader();
  await takeOver.run(term, 0);
  notice();
  await settled();
  notice();
  lists[0]!();
  await settled();
  expect(lists).toHaveLength(1);
  expect(term.hasAdopted).toBe(true);
  notice();
  await settled();
  expect(lists).toHaveLength(2);
  expect(term).toMatchObject({ mayAdopt: false, hasAdopted: false });
});
