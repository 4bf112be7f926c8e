import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../parts/random.ts';
import { ApiModel } from './api-model.ts';
import { nodeObject, poolObject } from './objects.ts';
import { checkApart, nodeOf, specOf } from './promises.ts';
import { interleave, SteppedOperator } from './stepped-operator.ts';

let api: ApiModel;

beforeEach(() => {
  api = new ApiModel();
});

const makePool = (cidrs: string[], size: number) =>
  api.create({ ...poolObject('p', { cidrs, size }), metadata: { name: 'p' } });
const makeNode = (name: string, podCIDRs?: string[]) => {
  api.create({
    ...nodeObject(name, podCIDRs ? { podCIDRs } : {}),
    metadata: { name, labels: {} },
  });
};
const held = () =>
  [...api.list('NodeBlock')]
    .filter((block) => specOf(block).phase !== 'Guard')
    .map((block) => `${specOf(block).cidr} ${nodeOf(block)}`)
    .sort();

/** A leader that has heard of the nodes there are, except some. */
function leaderWithout(names: string[], turn?: () => Promise<void>): SteppedOperator {
  const operator = new SteppedOperator(api, turn);
  for (const name of names) operator.register.removeNode(name);
  return operator;
}

describe('two leaders that each know one of two nodes whose blocks of odd sizes overlap', () => {
  /** Runs both call by call: `order` says who is next, and from `deathAt` on the second is dead. */
  async function race(sizes: readonly [string, string], order: boolean[], deathAt: number) {
    api = new ApiModel();
    makePool(['10.0.0.0/24'], 26);
    makeNode('a', [sizes[0]]);
    makeNode('b', [sizes[1]]);
    const turns = order[Symbol.iterator]();
    let calls = 0;
    await interleave(
      [
        (turn) => leaderWithout(['b'], turn).reconcile('a'),
        (turn) => leaderWithout(['a'], turn).reconcile('b'),
      ],
      (waiting) => {
        const isAlive = calls < deathAt;
        if (!isAlive && !waiting.includes(0)) return undefined;
        const wished = turns.next().value ? 1 : 0;
        const at = isAlive && waiting.includes(wished) ? wished : (waiting[0] ?? 0);
        if (at === 1) calls += 1;
        return at;
      },
    );
    checkApart(api);
  }

  test.each([
    [['10.0.0.0/28', '10.0.0.0/27']],
    [['10.0.0.0/28', '10.0.0.0/25']],
    [['10.0.0.0/25', '10.0.0.64/27']],
  ] as const)('never register both: %j', async (sizes) => {
    let served = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
        fc.integer({ min: 0, max: 40 }),
        async (order, deathAt) => {
          await race(sizes, order, deathAt);
          served += held().length;
        },
      ),
      { numRuns: runs(1_500) },
    );
    // Nobody is kept out for good either: one of the two is there, nearly always.
    expect(served).toBeGreaterThan(runs(1_200));
  });

  test('nor when the second makes its block last of all and dies before it can look', async () => {
    await race(['10.0.0.0/28', '10.0.0.0/27'], [true], 2);
    expect(held()).toEqual(['10.0.0.0/28 a']);
  });

  test('the one that comes later is told of the other', async () => {
    makePool(['10.0.0.0/24'], 26);
    makeNode('a', ['10.0.0.0/28']);
    makeNode('b', ['10.0.0.0/27']);
    await leaderWithout(['b']).reconcile('a');
    const second = leaderWithout(['a']);
    second.register.removeBlock('10-0-0-0-28');
    second.register.removeBlock('10-0-0-0-26');
    await second.reconcile('b');
    expect(held()).toEqual(['10.0.0.0/28 a']);
    expect(second.register.blocks.has('10-0-0-0-28')).toBe(true);
  });
});

describe('half of what a node needs', () => {
  beforeEach(() => {
    makePool(['10.0.0.0/23', 'fd00::/64'], 24);
    makeNode('a');
  });

  test('is taken back when the other family went to somebody else', async () => {
    const late = new SteppedOperator(api);
    makeNode('b', ['10.0.1.0/24', 'fd00::/64']);
    await leaderWithout(['a']).reconcile('b');
    await late.reconcile('a');
    expect(held()).toEqual(['10.0.1.0/24 b', 'fd00::/64 b']);
  });

  test('is left alone when another leader made it: the node may be using it', async () => {
    const late = new SteppedOperator(api);
    // Another gets as far as IPv4, and no further.
    let calls = 0;
    await interleave([(turn) => new SteppedOperator(api, turn).reconcile('a')], () =>
      calls++ < 1 ? 0 : undefined,
    );
    expect(held()).toEqual(['10.0.0.0/24 a']);
    makeNode('b', ['10.0.1.0/24', 'fd00::/64']);
    await leaderWithout(['a']).reconcile('b');
    await late.reconcile('a');
    expect(held()).toEqual(['10.0.0.0/24 a', '10.0.1.0/24 b', 'fd00::/64 b']);
  });
});
