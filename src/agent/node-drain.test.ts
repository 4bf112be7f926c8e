import { describe, expect, test } from 'vitest';
import { nodeObject } from '../../test/register/objects.ts';
import { type ClusterNode, readNode } from '../model/node.ts';
import type { OnCordon } from '../plan/node/leaving.ts';
import { announcedDuring, type DrainDecision, NodeDrain } from './node-drain.ts';

const yes = true as const;
const only = new Map([['10.6.0.3/32', '10.6.0.3/32 stays announced']]);
const none = new Map<string, string>();

class Bench {
  nowMs = 0;
  readonly drain: NodeDrain;
  signs: Partial<ClusterNode> = {};
  hasPods = true;
  onlyHere: ReadonlyMap<string, string> = none;

  constructor(onCordon: OnCordon = 'services', graceMs = 5_000) {
    const clock = { wallMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    this.drain = new NodeDrain({ clock, graceMs, onCordon });
  }

  /** Looks as often as the agent does, up to then. */
  until(ms: number): DrainDecision {
    for (;;) {
      const decision = this.drain.next({
        node: { ...readNode(nodeObject('n1')), ...this.signs },
        hasPods: this.hasPods,
        onlyHere: this.onlyHere,
        delivery: () => ({ routers: 2, acknowledged: 2, prefixes: 1, elsewhere: 1 }),
      });
      const nextMs = this.nowMs + (this.drain.againInMs ?? Number.POSITIVE_INFINITY);
      if (nextMs > ms) {
        this.nowMs = ms;
        return decision;
      }
      this.nowMs = nextMs;
    }
  }

  get steps() {
    return this.drain.steps.map(({ step }) => step).join(' ');
  }
}

const all = 'Asked GracefulShutdown Acknowledged Moved Withdrawn';
const phases = ({ blocks, services }: DrainDecision) => `blocks ${blocks}, services ${services}`;

describe('a cordoned node', () => {
  test('withdraws its Services in order, its blocks when the last pod has left, and all come back', () => {
    const bench = new Bench();
    expect(phases(bench.until(100))).toBe('blocks announce, services announce');
    bench.signs = { isCordoned: yes };
    expect(phases(bench.until(2_000))).toBe('blocks announce, services graceful');
    expect(phases(bench.until(10_000))).toBe('blocks announce, services withdraw');
    expect(bench.steps).toBe(all);
    expect(bench.drain.steps[0]?.detail).toBe(
      'the node is cordoned: its addresses of Services are to be withdrawn; its blocks stay while it has pods',
    );
    expect([bench.drain.hasWithdrawnBlocks, bench.drain.againInMs]).toEqual([false, undefined]);
    bench.hasPods = false;
    expect(phases(bench.until(12_000))).toBe('blocks graceful, services withdraw');
    expect(phases(bench.until(20_000))).toBe('blocks withdraw, services withdraw');
    expect(bench.drain.hasWithdrawnBlocks).toBe(true);
    expect(bench.drain.whyWithdrawn).toBe('the node is cordoned and no pod is left in its blocks');
    bench.hasPods = true;
    expect(phases(bench.until(20_100))).toBe('blocks announce, services withdraw');
    expect(bench.drain.hasWithdrawnBlocks).toBe(false);
    bench.signs = {};
    expect(phases(bench.until(20_200))).toBe('blocks announce, services announce');
    expect(bench.drain.steps).toEqual([]);
  });

  test('keeps what no other node announces for as long as that is so', () => {
    const bench = new Bench();
    bench.signs = { isCordoned: yes };
    bench.onlyHere = only;
    expect([...bench.until(600_000).kept]).toEqual(['10.6.0.3/32']);
    expect(bench.steps).toBe('Asked GracefulShutdown Acknowledged Moved Kept');
    expect(bench.drain.againInMs).toBeUndefined();
    bench.onlyHere = none;
    // Another node can serve it now. Until the routers have heard of that, this one must.
    expect(bench.until(604_900).kept.size).toBe(1);
    expect(bench.until(606_000).kept.size).toBe(0);
    expect(bench.steps).toBe('Asked GracefulShutdown Acknowledged Moved Kept Withdrawn');
  });

  test('keeps what another node could take over only a moment ago', () => {
    const bench = new Bench();
    bench.signs = { isCordoned: yes };
    bench.onlyHere = only;
    bench.until(4_000);
    bench.onlyHere = none;
    expect(bench.until(8_900)).toMatchObject({ services: 'withdraw', kept: new Set(only.keys()) });
    expect(bench.until(10_000).kept.size).toBe(0);
  });

  test.each<[OnCordon, string]>([
    ['blocks', 'blocks withdraw, services withdraw'],
    ['nothing', 'blocks announce, services announce'],
  ])('with --on-cordon=%s', (onCordon, expected) => {
    const bench = new Bench(onCordon);
    bench.signs = { isCordoned: yes };
    expect(phases(bench.until(20_000))).toBe(expected);
  });
});

describe('a node that leaves for good', () => {
  test.each<[string, Partial<ClusterNode>]>([
    ['by our annotation', { isLeaving: yes }],
    ['because it shuts down', { isShuttingDown: yes, isNotReady: yes }],
    ['because it is out of service', { isOutOfService: yes }],
  ])('%s withdraws everything in order', (_, signs) => {
    const bench = new Bench();
    bench.signs = signs;
    expect(phases(bench.until(2_000))).toBe('blocks graceful, services graceful');
    expect(phases(bench.until(10_000))).toBe('blocks withdraw, services withdraw');
    expect(bench.steps).toBe(all);
    expect(bench.drain.hasWithdrawnBlocks).toBe(true);
  });

  test('waits with its blocks for the last announcer of a Service, up to a limit', () => {
    const bench = new Bench();
    bench.signs = { isShuttingDown: yes };
    bench.onlyHere = only;
    expect(bench.until(20_000)).toMatchObject({ blocks: 'graceful', services: 'withdraw' });
    expect(bench.until(20_100).kept.size).toBe(1);
    expect(bench.steps).toContain('Kept');
    expect(bench.until(40_000)).toMatchObject({ blocks: 'withdraw', kept: new Set() });
    expect(bench.drain.hasWithdrawnBlocks).toBe(true);
    bench.until(60_000);
    expect(bench.until(60_100).kept.size).toBe(0);
  });

  test('waits for nobody if it is out of service', () => {
    const bench = new Bench();
    bench.signs = { isOutOfService: yes };
    bench.onlyHere = only;
    expect(bench.until(10_000)).toMatchObject({ blocks: 'withdraw', kept: new Set() });
  });
});

describe('over a restart of the agent', () => {
  test.each<[string, Partial<ClusterNode>, string]>([
    ['a cordoned node', { isCordoned: yes }, 'blocks announce, services withdraw'],
    ['a drained node', { isLeaving: yes }, 'blocks withdraw, services withdraw'],
    ['a node that shut down', { isNotReady: yes }, 'blocks withdraw, services withdraw'],
  ])('%s takes nothing back', (_, signs, expected) => {
    const first = new Bench();
    first.signs = signs.isNotReady ? { isShuttingDown: yes } : signs;
    first.until(20_000);
    const second = new Bench();
    second.signs = signs;
    second.drain.resume(JSON.parse(JSON.stringify(first.drain.memory)));
    expect(phases(second.until(0))).toBe(expected);
    expect(second.drain.steps).toEqual(first.drain.steps);
    expect(second.drain.hasWithdrawnBlocks).toBe(first.drain.hasWithdrawnBlocks);
  });

  test('what an older agent wrote was a drain of everything', () => {
    const steps = [{ step: 'Withdrawn' as const, at: '2026-01-01T00:00:00Z', detail: '' }];
    const bench = new Bench();
    bench.signs = { isLeaving: yes };
    bench.drain.resume({ steps, isLeaving: true });
    expect(phases(bench.until(0))).toBe('blocks withdraw, services withdraw');
  });
});

test('what is declared in which phase', () => {
  const wanted = {
    blocks: [{ prefix: '10.5.113.0/24', communities: ['64513:1'] }],
    services: [{ prefix: '10.6.0.1/32' }, { prefix: '10.6.0.3/32', localPref: 200 }],
  };
  const last = { communities: ['graceful-shutdown'], localPref: 0 };
  const during = (blocks: DrainDecision['blocks'], services: DrainDecision['services']) =>
    announcedDuring({ blocks, services, kept: new Set(['10.6.0.3/32']) }, wanted);
  expect(during('announce', 'announce')).toEqual(wanted);
  expect(during('announce', 'graceful')).toEqual({
    blocks: wanted.blocks,
    services: [
      { prefix: '10.6.0.1/32', ...last },
      { prefix: '10.6.0.3/32', ...last },
    ],
  });
  expect(during('graceful', 'withdraw')).toEqual({
    blocks: [
      { prefix: '10.5.113.0/24', communities: ['64513:1', 'graceful-shutdown'], localPref: 0 },
    ],
    services: [{ prefix: '10.6.0.3/32', ...last }],
  });
  expect(during('withdraw', 'withdraw').blocks).toEqual([]);
});
