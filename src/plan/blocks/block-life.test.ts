import { describe, expect, test } from 'vitest';
import {
  at,
  blockObject,
  ciliumNodeObject,
  guard,
  nodeObject,
  poolObject,
  type ReportSpec,
  registerOf,
  reportObject,
  second,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { type BlockStep, decideBlock } from './block-life.ts';

const ms = (seconds: number) => Date.parse(second(seconds));

function step(objects: KubeObject[], cidr: string, nowS = 0, byDemand = false): BlockStep {
  const register = registerOf(objects);
  const found = [...register.blocks.values()].find(({ prefix }) => prefix.equals(at(cidr)));
  return decideBlock(register, found!, ms(nowS), byDemand);
}

const pool = poolObject('pool', { cidrs: ['10.0.0.0/16'], cooldownSeconds: 60 });
const stay: BlockStep = { kind: 'stay' };
const byWord: BlockStep = { kind: 'cool', reason: 'Released', nodeGone: false, noRecord: false };
const bySilence: BlockStep = { ...byWord, noRecord: true };

describe('when a node goes', () => {
  test('its block cools, once the API server confirms that the node is gone', () => {
    expect(step([pool, blockObject('10.0.0.0/24', 'n')], '10.0.0.0/24')).toEqual({
      kind: 'cool',
      reason: 'Cooling',
      nodeGone: true,
      noRecord: false,
    });
  });

  test('a Node that is merely being deleted still runs pods: its block stays', () => {
    const node = nodeObject('n');
    const deleting = { ...node, metadata: { ...node.metadata, deletionTimestamp: second(0) } };
    expect(step([pool, deleting, blockObject('10.0.0.0/24', 'n')], '10.0.0.0/24')).toEqual(stay);
  });

  test('under another uid the node is back, and the block waits to be bound to it', () => {
    const objects = [pool, nodeObject('n', { uid: 'new' }), blockObject('10.0.0.0/24', 'n')];
    expect(step(objects, '10.0.0.0/24')).toEqual(stay);
  });

  test('a block with a deletionTimestamp is left to its fate', () => {
    const object = blockObject('10.0.0.0/24', 'n');
    const deleting = { ...object, metadata: { ...object.metadata, deletionTimestamp: second(0) } };
    expect(step([pool, deleting], '10.0.0.0/24')).toEqual(stay);
  });
});

describe('a cooling block', () => {
  const cooling = blockObject('10.0.0.0/24', 'n', { phase: 'Cooling', coolingSince: 100 });

  test('rests as long as its pool says', () => {
    expect(step([pool, cooling], '10.0.0.0/24', 100)).toEqual({ kind: 'rest', untilMs: ms(160) });
    expect(step([pool, cooling], '10.0.0.0/24', 159)).toEqual({ kind: 'rest', untilMs: ms(160) });
    expect(step([pool, cooling], '10.0.0.0/24', 160)).toEqual({ kind: 'free', unlessExists: [] });
  });

  test('rests five minutes if there is no such pool any more', () => {
    expect(step([cooling], '10.0.0.0/24', 399)).toEqual({ kind: 'rest', untilMs: ms(400) });
    expect(step([cooling], '10.0.0.0/24', 400).kind).toBe('free');
  });

  test('rests as the pool it lies in says, whatever name it carries', () => {
    const other = blockObject('10.0.0.0/24', 'n', {
      pool: 'cluster-pool',
      phase: 'Cooling',
      coolingSince: 100,
    });
    expect(step([pool, other], '10.0.0.0/24', 160).kind).toBe('free');
  });

  test('is freed at once where the cool-down is zero', () => {
    const hasty = poolObject('pool', { cidrs: ['10.0.0.0/16'], cooldownSeconds: 0 });
    expect(step([hasty, cooling], '10.0.0.0/24', 100).kind).toBe('free');
  });
});

describe('a draining block', () => {
  const draining = blockObject('10.0.0.0/24', 'n', { phase: 'Draining' });
  const report = (spec: ReportSpec) => reportObject('n', spec);

  test('goes when its agent says that it is empty', () => {
    const objects = [pool, nodeObject('n'), draining];
    expect(step([...objects, report({ releases: ['10.0.0.0/24'] })], '10.0.0.0/24')).toEqual(
      byWord,
    );
    expect(step([...objects, report({})], '10.0.0.0/24')).toEqual(stay);
  });

  test('a release of an earlier object of the name is not its agent’s word', () => {
    const late = report({ releases: [{ cidr: '10.0.0.0/24', uid: 'earlier' }] });
    expect(step([pool, nodeObject('n'), draining, late], '10.0.0.0/24')).toEqual(stay);
  });

  test('where no agent reports it goes when no record speaks of it, to be confirmed', () => {
    expect(step([pool, nodeObject('n'), draining], '10.0.0.0/24')).toEqual(bySilence);
    const elsewhere = nodeObject('n', { podCIDRs: ['10.0.1.0/24'] });
    expect(step([pool, elsewhere, draining], '10.0.0.0/24')).toEqual(bySilence);
  });

  test('and stays while any record does, exactly or by overlap', () => {
    const named = nodeObject('n', { podCIDRs: ['10.0.0.0/24'] });
    expect(step([pool, named, draining], '10.0.0.0/24')).toEqual(stay);
    const cilium = ciliumNodeObject('n', ['10.0.0.64/26']);
    expect(step([pool, nodeObject('n'), cilium, draining], '10.0.0.0/24')).toEqual(stay);
  });

  test('a report of an earlier incarnation counts as none', () => {
    const earlier = report({ nodeUid: 'before', releases: ['10.0.0.0/24'] });
    const named = nodeObject('n', { podCIDRs: ['10.0.0.0/24'] });
    expect(step([pool, named, draining, earlier], '10.0.0.0/24')).toEqual(stay);
  });
});

describe('by demand', () => {
  const blocks = [blockObject('10.0.0.0/24', 'n'), blockObject('10.0.1.0/24', 'n')];
  const objects = [pool, nodeObject('n'), ...blocks];
  const giveBack = (...releases: string[]) => reportObject('n', { releases });

  test('an active block goes when its agent gives it back', () => {
    expect(step([...objects, giveBack('10.0.0.0/24')], '10.0.0.0/24', 0, true)).toEqual(byWord);
    expect(step([...objects, giveBack('10.0.0.0/24')], '10.0.1.0/24', 0, true)).toEqual(stay);
  });

  test('but never the last one of its family', () => {
    const both = giveBack('10.0.0.0/24', '10.0.1.0/24');
    expect(step([...objects, both], '10.0.0.0/24', 0, true)).toEqual(stay);
    const single = [pool, nodeObject('n'), blocks[0]!, giveBack('10.0.0.0/24')];
    const six = blockObject('fd00::/64', 'n');
    expect(step([...single, six], '10.0.0.0/24', 0, true)).toEqual(stay);
  });

  test('without demand an agent’s word about an active block changes nothing', () => {
    expect(step([...objects, giveBack('10.0.0.0/24')], '10.0.0.0/24')).toEqual(stay);
  });

  test('a silent agent keeps everything', () => {
    expect(step(objects, '10.0.0.0/24', 0, true)).toEqual(stay);
  });
});

describe('a guard', () => {
  const register = (objects: KubeObject[]) => {
    const made = registerOf([pool, ...objects]);
    const cell = guard('10.0.0.0/24', ['10.0.0.32/27']);
    made.putBlock(cell);
    return { made, cell };
  };
  const judge = (objects: KubeObject[]) => {
    const { made, cell } = register(objects);
    return decideBlock(made, cell, 0, false);
  };

  test('stays while a block of another size is registered in its cell, listed or not', () => {
    expect(judge([blockObject('10.0.0.32/27', 'n')])).toEqual(stay);
    expect(judge([blockObject('10.0.0.64/27', 'n')])).toEqual(stay);
    expect(judge([blockObject('10.0.0.0/23', 'n')])).toEqual(stay);
  });

  test('stays while a node holds one that is about to be adopted', () => {
    expect(judge([nodeObject('n', { podCIDRs: ['10.0.0.32/27'] })])).toEqual(stay);
  });

  test('goes when the cell is empty, unless the API server knows a block it lists', () => {
    const step = judge([]);
    expect(step.kind).toBe('free');
    expect(step.kind === 'free' && step.unlessExists.map(String)).toEqual(['10.0.0.32/27']);
  });

  test('that took the name of a rival goes, unless the API server knows the block that took it', () => {
    const made = registerOf([pool, nodeObject('n', { podCIDRs: ['10.0.0.32/28'] })]);
    const name = guard('10.0.0.32/27', ['10.0.0.32/28']);
    made.putBlock(name);
    const step = decideBlock(made, name, 0, false);
    expect(step.kind === 'free' && step.unlessExists.map(String)).toEqual(['10.0.0.32/28']);
  });

  test('gives way to a node that holds exactly the cell', () => {
    expect(judge([nodeObject('n', { podCIDRs: ['10.0.0.0/24'] })]).kind).toBe('free');
  });
});
