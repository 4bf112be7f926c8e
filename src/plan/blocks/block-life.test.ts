import { describe, expect, test } from 'vitest';
import {
  at,
  type BlockSpec,
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
import type { BlockWitness } from '../../model/node-block.ts';
import type { KubeObject } from '../../model/object.ts';
import { type BlockStep, decideBlock } from './block-life.ts';

function step(objects: KubeObject[], cidr: string, rested = 0, byDemand = false): BlockStep {
  const register = registerOf(objects);
  const found = [...register.blocks.values()].find(({ prefix }) => prefix.equals(at(cidr)));
  return decideBlock(register, found!, rested, byDemand);
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
  const fenced = { by: 'Fenced' } as const;
  const cooling = (spec: BlockSpec = {}) =>
    blockObject('10.0.0.0/24', 'n', { phase: 'Cooling', coolingSince: 100, ...spec });
  const free: BlockStep = { kind: 'free', unlessExists: [] };

  test('rests as long as its pool says, however late it is by the clock', () => {
    const rest = (rested: number) =>
      step([pool, cooling({ released: fenced })], '10.0.0.0/24', rested);
    expect(rest(0)).toEqual({ kind: 'rest', seconds: 60 });
    expect(rest(59.5)).toEqual({ kind: 'rest', seconds: 0.5 });
    expect(rest(60)).toEqual(free);
  });

  test('rests five minutes if there is no such pool any more', () => {
    const rest = (rested: number) => step([cooling({ released: fenced })], '10.0.0.0/24', rested);
    expect(rest(299)).toEqual({ kind: 'rest', seconds: 1 });
    expect(rest(300)).toEqual(free);
  });

  test('rests as the pool it lies in says, whatever name it carries', () => {
    const other = cooling({ pool: 'cluster-pool', released: fenced });
    expect(step([pool, other], '10.0.0.0/24', 60)).toEqual(free);
  });

  test('is not freed by time: without a witness it awaits one', () => {
    const hasty = poolObject('pool', { cidrs: ['10.0.0.0/16'], cooldownSeconds: 0 });
    expect(step([hasty, cooling()], '10.0.0.0/24', 0)).toEqual({ kind: 'await' });
    expect(step([pool, cooling()], '10.0.0.0/24', 1e9)).toEqual({ kind: 'await' });
  });

  test('that was released by time alone is kept for last, unless its pool is being deleted', () => {
    const byTime = cooling({ released: { by: 'Time' } });
    const week = 7 * 86_400;
    expect(step([pool, byTime], '10.0.0.0/24', 60)).toEqual({
      kind: 'keep for last',
      seconds: week - 60,
    });
    expect(step([pool, byTime], '10.0.0.0/24', week)).toEqual(free);
    const leaving = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: second(0) } };
    expect(step([leaving, byTime], '10.0.0.0/24', 60)).toEqual(free);
  });
});

describe('another machine of the same name', () => {
  const recorded = (spec: BlockSpec = {}) =>
    blockObject('10.0.0.0/24', 'n', { nodeAddresses: ['10.4.94.23', 'fd00::23'], ...spec });
  const another = (...addresses: string[]) => nodeObject('n', { uid: 'new', addresses });

  test('does not keep the block: it cools as that of any node that is gone', () => {
    expect(step([pool, another('10.4.94.24'), recorded()], '10.0.0.0/24')).toMatchObject({
      kind: 'cool',
      nodeGone: true,
    });
    expect(step([pool, another(), recorded()], '10.0.0.0/24').kind).toBe('cool');
  });

  test('with one of the recorded addresses it is the same machine, and gets the block back', () => {
    const node = another('10.4.94.99', 'fd00::23');
    expect(step([pool, node, recorded()], '10.0.0.0/24')).toEqual(stay);
  });

  test('with another block by now it drains what it had, so that nobody gets it unseen', () => {
    const back = nodeObject('n', { uid: 'new', addresses: ['192.168.0.1'] });
    const old = (spec: BlockSpec = {}) =>
      blockObject('10.0.0.0/24', 'n', {
        phase: 'Cooling',
        coolingSince: 100,
        nodeAddresses: ['192.168.0.1'],
        ...spec,
      });
    const other = blockObject('10.0.1.0/24', 'n', { nodeUid: 'new' });
    const next = (...objects: KubeObject[]) => step([pool, ...objects], '10.0.0.0/24', 60).kind;
    expect(next(back, other, old())).toBe('drain');
    // It is to get this one back; it is another machine; its address was never recorded; a witness spoke.
    expect(next(back, old())).toBe('await');
    expect(next(back, other, old({ nodeAddresses: ['192.168.0.9'] }))).toBe('await');
    expect(next(back, other, old({ nodeAddresses: [] }))).toBe('await');
    expect(next(back, other, old({ released: { by: 'Administrator' } }))).toBe('free');
  });

  test('where a witness is there the block may go to it', () => {
    const block = recorded({ released: { by: 'Administrator' } });
    expect(step([pool, another('10.4.94.24'), block], '10.0.0.0/24')).toEqual(stay);
  });
});

describe('a node out of service', () => {
  const tainted = nodeObject('n', { outOfService: true });
  const block = (released?: BlockWitness) =>
    blockObject('10.0.0.0/24', 'n', released ? { released } : {});

  test('is a witness for its blocks while it carries the taint', () => {
    expect(step([pool, tainted, block()], '10.0.0.0/24')).toMatchObject({
      kind: 'witness',
      by: 'OutOfService',
    });
    expect(step([pool, tainted, block({ by: 'OutOfService' })], '10.0.0.0/24')).toEqual(stay);
    expect(step([pool, nodeObject('n'), block({ by: 'OutOfService' })], '10.0.0.0/24')).toEqual({
      kind: 'witness',
      by: null,
      detail: 'Node n is in service',
    });
  });

  test('a Ready node takes back the word of a person that its machine is off', () => {
    const word = block({ by: 'Administrator' });
    expect(step([pool, nodeObject('n'), word], '10.0.0.0/24')).toMatchObject({ by: null });
    expect(step([pool, nodeObject('n', { notReady: true }), word], '10.0.0.0/24')).toEqual(stay);
  });
});

describe('what a block records', () => {
  test('follows the addresses of its node and the policy of its pool', () => {
    const node = nodeObject('n', { addresses: ['10.4.94.23'] });
    const block = (spec: BlockSpec) => blockObject('10.0.0.0/24', 'n', spec);
    const known = { nodeAddresses: ['10.4.94.23'] };
    expect(step([pool, node, block({})], '10.0.0.0/24')).toEqual({ kind: 'record' });
    expect(step([pool, node, block(known)], '10.0.0.0/24')).toEqual(stay);
    const timed = poolObject('pool', { cidrs: ['10.0.0.0/16'], releaseByTimeSeconds: 600 });
    expect(step([timed, node, block(known)], '10.0.0.0/24')).toEqual({ kind: 'record' });
    const both = { ...known, releaseByTimeSeconds: 600 };
    expect(step([timed, node, block(both)], '10.0.0.0/24')).toEqual(stay);
  });

  test('is kept while its Node says nothing of its addresses', () => {
    const block = blockObject('10.0.0.0/24', 'n', { nodeAddresses: ['10.4.94.23'] });
    expect(step([pool, nodeObject('n'), block], '10.0.0.0/24')).toEqual(stay);
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

  test('and not while the agent of Cilium serves from it, whatever records say', () => {
    const lives = (ip: string, type = 'CiliumInternalIP') => {
      const object = ciliumNodeObject('n', ['10.0.1.0/24']);
      const addresses = [
        { type: 'InternalIP', ip: '192.0.2.1' },
        { type, ip },
      ];
      return { ...object, spec: { ...(object.spec as object), addresses } };
    };
    const of = (cilium: KubeObject) =>
      step([pool, nodeObject('n'), cilium, draining], '10.0.0.0/24');
    expect(of(lives('10.0.0.17'))).toMatchObject({
      kind: 'used',
      why: expect.stringContaining('serves from 10.0.0.0/24 (CiliumInternalIP 10.0.0.17)'),
    });
    expect(of(lives('10.0.1.17'))).toEqual(bySilence);
    // It runs, and has not said where it lives.
    expect(of(lives('192.0.2.2', 'Hostname'))).toMatchObject({ kind: 'used' });
    // Cadastre made it: nobody runs there.
    expect(of(ciliumNodeObject('n', ['10.0.1.0/24']))).toEqual(bySilence);
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
