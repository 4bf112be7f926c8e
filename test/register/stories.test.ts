import { beforeEach, describe, expect, test } from 'vitest';
import type { ProjectionSwitches } from '../../src/plan/blocks/projection.ts';
import { ApiModel, withSpec } from './api-model.ts';
import { Leader } from './leader.ts';
import { auto, nodeObject, type PoolSpec, poolObject } from './objects.ts';
import { nodeOf, specOf } from './promises.ts';

/**
 * Two leaders of which one is behind, step by step: what the random lives of
 * sequence.ts meet now and then, each told once, so that it is met every time.
 */
let api: ApiModel;
const off: ProjectionSwitches = { annotations: false, nodeSpec: false, ciliumNode: false };
const annotations = { ...off, annotations: true };

beforeEach(() => {
  api = new ApiModel();
});

const makePool = (spec: PoolSpec) =>
  api.create({ ...poolObject('p', { cooldownSeconds: 100, ...spec }), metadata: { name: 'p' } });
const makeNode = (name: string, podCIDRs?: string[]) => {
  const object = nodeObject(name, podCIDRs ? { podCIDRs } : {});
  api.create({ ...object, metadata: { name, labels: {} } });
};
const leader = (switches = off) => new Leader(api, auto, switches);
const later = (seconds: number) => {
  api.nowMs += seconds * 1000;
};
const blocks = () =>
  [...api.list('NodeBlock')]
    .map((block) => `${specOf(block).cidr} ${specOf(block).phase} ${nodeOf(block)}`.trim())
    .sort();
const reconcileBlocks = (one: Leader) => {
  for (const name of [...one.register.blocks.keys()]) one.reconcileBlock(name);
};

describe('a leader that is behind', () => {
  test('chooses a block that is taken, is refused, and takes the next', () => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
    makeNode('a');
    makeNode('b');
    const [first, second] = [leader(), leader()];
    first.reconcileNode('a');
    second.reconcileNode('b');
    expect(blocks()).toEqual(['10.0.0.0/26 Active a']);
    second.reconcileNode('b');
    expect(blocks()).toEqual(['10.0.0.0/26 Active a', '10.0.0.64/26 Active b']);
  });

  test('finds that the block it wants for a node is the node’s already', () => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
    makeNode('a');
    const [first, second] = [leader(), leader()];
    first.reconcileNode('a');
    second.reconcileNode('a');
    expect(blocks()).toEqual(['10.0.0.0/26 Active a']);
  });

  test('takes back only what it made itself when the other family is gone meanwhile', () => {
    makePool({ cidrs: ['10.0.0.0/24', 'fd00::/64'], size: 24, size6: 64 });
    makeNode('a');
    const [first, second] = [leader(), leader()];
    // The first gets as far as IPv4; another node has the only IPv6 block.
    first.within(1, () => first.reconcileNode('a'));
    makeNode('b', ['fd00::/64']);
    first.hearAll();
    first.reconcileNode('b');
    second.reconcileNode('a');
    expect(blocks()).toEqual(['10.0.0.0/24 Active a', 'fd00::/64 Active b']);
  });

  test('does not let a block go whose node it has not heard of', () => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
    const [first, second] = [leader(), leader()];
    makeNode('a');
    first.hearAll();
    first.reconcileNode('a');
    second.hear('NodeBlock');
    reconcileBlocks(second);
    expect(blocks()).toEqual(['10.0.0.0/26 Active a']);
  });

  test('does not let a drained block go that a record names which it has not heard of', () => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
    makeNode('a');
    const [first, second] = [leader(annotations), leader(annotations)];
    first.reconcileNode('a');
    api.change('NodeBlock', '10-0-0-0-26', {}, (o) => withSpec(o, { phase: 'Draining' }));
    second.hear('NodeBlock');
    reconcileBlocks(second);
    expect(blocks()).toEqual(['10.0.0.0/26 Draining a']);
  });

  test('does not free a block that went back to its node meanwhile', () => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
    makeNode('a');
    const [first, second] = [leader(), leader()];
    first.reconcileNode('a');
    api.delete('Node', 'a');
    first.hearAll();
    reconcileBlocks(first);
    expect(blocks()).toEqual(['10.0.0.0/26 Cooling a']);
    second.hearAll();
    makeNode('a');
    first.hearAll();
    first.reconcileNode('a');
    later(200);
    reconcileBlocks(second);
    expect(blocks()).toEqual(['10.0.0.0/26 Active a']);
  });
});

describe('blocks of another size', () => {
  const cell = ['10.0.0.0/26 Guard', '10.0.0.0/28 Active a'];

  beforeEach(() => {
    makePool({ cidrs: ['10.0.0.0/24'], size: 26 });
  });

  test('are behind a guard: a leader that knows nothing of them cannot cut their cell', () => {
    const second = leader();
    makeNode('a', ['10.0.0.0/28']);
    leader().reconcileNode('a');
    makeNode('b');
    second.hear('Node', 2);
    second.register.removeNode('a');
    second.reconcileNode('b');
    second.reconcileNode('b');
    expect(blocks()).toEqual([...cell, '10.0.0.64/26 Active b'].sort());
  });

  test('keep their guard, though a leader has heard of the guard and not of them', () => {
    const second = leader();
    makeNode('a', ['10.0.0.0/28']);
    leader().reconcileNode('a');
    second.hear('NodeBlock', 1);
    later(3600);
    reconcileBlocks(second);
    expect(blocks()).toEqual(cell);
  });

  test('that overlap each other are not both registered by leaders that each know one', () => {
    const second = leader();
    makeNode('a', ['10.0.0.0/28']);
    leader().reconcileNode('a');
    makeNode('b', ['10.0.0.0/27']);
    second.hear('Node', 2);
    second.register.removeNode('a');
    second.reconcileNode('b');
    expect(blocks()).toEqual(cell);
    const { findings } = second.reconcileNode('b')!;
    expect(findings[0]).toMatchObject({ reason: 'OverlappingBlocks', nodes: ['a', 'b'] });
  });

  test('that overlap each other and are made at the same moment: one of them sees the other', () => {
    const [first, second] = [leader(), leader()];
    makeNode('a', ['10.0.0.0/28']);
    first.hearAll();
    makeNode('b', ['10.0.0.0/27']);
    second.hear('Node', 2);
    second.register.removeNode('a');
    // After the first has listed itself in the guard, and before its block is there.
    first.interrupt = { writesBefore: 1, work: () => second.reconcileNode('b') };
    first.reconcileNode('a');
    expect(blocks().filter((block) => block.includes('Active'))).toEqual(['10.0.0.0/27 Active b']);
  });

  test('take their guard along when they go', () => {
    makeNode('a', ['10.0.0.0/28']);
    const only = leader();
    only.reconcileNode('a');
    expect(blocks()).toEqual(cell);
    api.delete('Node', 'a');
    const released = { by: 'Administrator' };
    api.change('NodeBlock', '10-0-0-0-28', {}, (o) => withSpec(o, { released }));
    only.hearAll();
    for (let n = 0; n < 4; n++) {
      reconcileBlocks(only);
      later(200);
    }
    expect(blocks()).toEqual([]);
  });
});
