import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allVolumes,
  type BlockLog,
  maxEntriesOfVolume,
  maxHolderEntries,
  maxRouteEntries,
  volumeOf,
} from '../../model/block-history.ts';
import { type Block, type BlockPhase, blockName } from '../../model/node-block.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { type BlockFacts, bringUpToDate, shortenVolume } from './block-history.ts';

const cidr = '10.5.115.0/24';
const startMs = Date.parse('2026-01-01T00:00:00Z');

function blockOf(more: Partial<Block> = {}): Block {
  const prefix = parsePrefix(cidr)!;
  return {
    name: blockName(prefix),
    uid: 'b1',
    resourceVersion: '1',
    prefix,
    pool: 'rack-83',
    nodeName: 'node1',
    nodeUid: 'n1',
    phase: 'Active',
    coolingSinceMs: 0,
    guards: [],
    createdMs: startMs,
    deleting: false,
    ...more,
  };
}

function factsOf(block: Block | undefined, more: Partial<BlockFacts> = {}): BlockFacts {
  return { cidr, block, announcers: new Map(), why: () => 'the only pool', ...more };
}

const words = (log: BlockLog | undefined) =>
  (log?.entries ?? []).map(({ at, event, node }) => `${at.slice(11, 19)} ${event} ${node}`);

describe('the history of a block', () => {
  test('tells who held it, why, when it was announced, withdrawn, cooled and freed', () => {
    let log: BlockLog | undefined;
    const see = (seconds: number, facts: BlockFacts) => {
      log = bringUpToDate(log, facts, startMs + seconds * 1000);
    };
    const told = { announcers: new Map([['node1', ['tor2', 'tor1']]]) };
    see(5, factsOf(blockOf(), { givenBy: 'Assigned' }));
    see(10, factsOf(blockOf(), told));
    see(20, factsOf(blockOf(), told));
    see(30, factsOf(blockOf({ phase: 'Draining' }), told));
    see(40, factsOf(blockOf({ phase: 'Draining' })));
    see(55, factsOf(blockOf({ phase: 'Cooling', coolingSinceMs: startMs + 50_000 })));
    const witness = { by: 'Fenced', detail: 'node1 withdrew it' } as const;
    see(400, factsOf(undefined, { released: { uid: 'b1', witness } }));
    see(500, factsOf(undefined));
    const next = { uid: 'b2', nodeName: 'node2', nodeUid: 'n2', createdMs: startMs + 600_000 };
    see(610, factsOf(blockOf(next), { givenBy: 'Adopted' }));
    expect(words(log)).toEqual([
      '00:00:00 Assigned node1',
      '00:00:10 Announced node1',
      '00:00:30 Draining node1',
      '00:00:40 Withdrawn node1',
      '00:00:50 Cooling node1',
      '00:06:40 Released node1',
      '00:10:00 Adopted node2',
    ]);
    expect(log?.entries[5]).toMatchObject({ why: 'Fenced: node1 withdrew it' });
    expect(log?.entries[0]).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      event: 'Assigned',
      node: 'node1',
      nodeUID: 'n1',
      blockUID: 'b1',
      pool: 'rack-83',
      why: 'the only pool',
    });
    expect(log?.entries[1]?.peers).toEqual(['tor1', 'tor2']);
  });

  test('a node that comes back, under another uid or in time, has returned', () => {
    const first = bringUpToDate(undefined, factsOf(blockOf()), startMs);
    const cooled = bringUpToDate(
      first,
      factsOf(blockOf({ phase: 'Cooling', coolingSinceMs: startMs + 1000 })),
      startMs + 2000,
    );
    const back = bringUpToDate(cooled, factsOf(blockOf({ nodeUid: 'n1-again' })), startMs + 3000);
    expect(words(back)).toEqual([
      '00:00:00 Registered node1',
      '00:00:01 Cooling node1',
      '00:00:03 Returned node1',
    ]);
  });

  test('what was freed and given again while nobody looked is told as far as it is known', () => {
    const first = bringUpToDate(undefined, factsOf(blockOf()), startMs);
    const createdMs = startMs + 60_000;
    const other = blockOf({ uid: 'b2', nodeName: 'node2', nodeUid: 'n2', createdMs });
    expect(words(bringUpToDate(first, factsOf(other), startMs + 90_000))).toEqual([
      '00:00:00 Registered node1',
      '00:01:00 Released node1',
      '00:01:00 Registered node2',
    ]);
  });

  test('another node that announces the block is told by its own name', () => {
    const announcers = new Map([
      ['master1', ['tor1']],
      ['node1', ['tor1']],
    ]);
    const log = bringUpToDate(undefined, factsOf(blockOf(), { announcers }), startMs);
    expect(words(log).slice(1)).toEqual(['00:00:00 Announced master1', '00:00:00 Announced node1']);
  });

  test('a guard is nobody’s holding', () => {
    const guard = blockOf({ phase: 'Guard', nodeName: '', nodeUid: '' });
    expect(bringUpToDate(undefined, factsOf(guard), startMs)).toBeUndefined();
  });
});

const anyFacts = fc.record({
  uid: fc.constantFrom('b1', 'b2', 'b3'),
  node: fc.constantFrom('node1', 'node2', 'node3'),
  nodeUid: fc.constantFrom('u1', 'u2'),
  phase: fc.constantFrom<BlockPhase | 'none'>('Active', 'Draining', 'Cooling', 'none'),
  announcers: fc.array(
    fc.tuple(
      fc.constantFrom('node1', 'node2', 'x', 'y', 'z', 'q'),
      fc.subarray(['tor1', 'tor2', 'tor3']),
    ),
  ),
  hasLooked: fc.boolean(),
});

type AnyFacts = typeof anyFacts extends fc.Arbitrary<infer T> ? T : never;

function toFacts({ uid, node, nodeUid, phase, announcers }: AnyFacts, nowMs: number): BlockFacts {
  const block =
    phase === 'none'
      ? undefined
      : blockOf({ uid, nodeName: node, nodeUid, phase, coolingSinceMs: nowMs, createdMs: nowMs });
  return factsOf(block, { announcers: new Map(announcers) });
}

describe('whatever happens', () => {
  test('the last entries tell the present, a second look adds nothing, and the log stays short', () => {
    fc.assert(
      fc.property(fc.array(anyFacts, { maxLength: 60 }), (lives) => {
        let log: BlockLog | undefined;
        lives.forEach((life, at) => {
          // A look that did not happen: a crash, or no leader.
          if (!life.hasLooked && at < lives.length - 1) return;
          const nowMs = startMs + at * 1000;
          const facts = toFacts(life, nowMs);
          log = bringUpToDate(log, facts, nowMs);
          expect(bringUpToDate(log, facts, nowMs + 500)).toBe(log);
          const entries = log?.entries ?? [];
          const holders = entries.filter(({ event }) => !/Announced|Withdrawn/.test(event));
          const last = holders.at(-1);
          if (facts.block === undefined) expect(last?.event ?? 'Released').toBe('Released');
          else {
            const { uid, nodeName, nodeUid, phase } = facts.block;
            expect(last).toMatchObject({ node: nodeName, nodeUID: nodeUid, blockUID: uid });
            if (phase === 'Active') expect(last?.event).toMatch(/Registered|Returned/);
            else expect(last?.event).toBe(phase);
          }
          expect(holders.length).toBeLessThanOrEqual(maxHolderEntries);
          expect(entries.length - holders.length).toBeLessThanOrEqual(maxRouteEntries);
        });
      }),
    );
  });

  test('a volume stays within its size, and keeps what is held before what is free', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(3), fc.boolean()), { maxLength: 60 }), (blocks) => {
        const logs = blocks.map(([length, isHeld], at): BlockLog => {
          const facts = (phase: BlockPhase, uid: string) => ({
            ...factsOf(blockOf({ phase, uid })),
            cidr: `10.0.${at}.0/24`,
          });
          let log: BlockLog | undefined;
          for (let turn = 0; turn <= length; turn++) {
            log = bringUpToDate(log, facts('Active', `b${turn}`), startMs + at * 1000 + turn);
          }
          if (!isHeld) {
            log = bringUpToDate(log, { ...facts('Active', ''), block: undefined }, startMs + 1e6);
          }
          return log!;
        });
        const held = blocks.filter(([, isHeld]) => isHeld).length;
        const most = Math.max(40, held);
        const short = shortenVolume(logs, most);
        const count = short.reduce((sum, log) => sum + log.entries.length, 0);
        expect(count).toBeLessThanOrEqual(most);
        const isOpen = (log: BlockLog) => log.entries.at(-1)?.event !== 'Released';
        expect(short.filter(isOpen)).toHaveLength(held);
      }),
    );
  });

  test('the largest volume is far below what the API server takes', () => {
    const entry = {
      at: '2026-01-01T00:00:00.000Z',
      event: 'Assigned',
      node: 'n'.repeat(60),
      nodeUID: 'u'.repeat(36),
      blockUID: 'b'.repeat(36),
      pool: 'p'.repeat(60),
      why: 'w'.repeat(256),
    };
    const text = JSON.stringify(Array.from({ length: maxEntriesOfVolume }, () => entry));
    expect(text.length).toBeLessThan(600_000);
  });
});

test('volumes are many and filled evenly', () => {
  const counts = new Map(allVolumes().map((name) => [name, 0]));
  for (let at = 0; at < 10_000; at++) {
    const name = volumeOf(`10.${at >> 8}.${at & 255}.0/24`);
    counts.set(name, (counts.get(name) ?? Number.NaN) + 1);
  }
  expect(counts.size).toBe(256);
  expect(Math.max(...counts.values())).toBeLessThan(39 * 3);
  expect(Math.min(...counts.values())).toBeGreaterThan(0);
});
