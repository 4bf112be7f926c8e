import { describe, expect, test } from 'vitest';
import {
  blockObject,
  guard,
  nodeObject,
  poolObject,
  registerOf,
  second,
} from '../../../test/register/objects.ts';
import type { Condition, KubeObject } from '../../model/object.ts';
import { dated } from './pool-conditions.ts';
import { desiredPoolStatus, poolUsage } from './pool-status.ts';

const now = second(100);

function status(objects: KubeObject[], name = 'p') {
  const register = registerOf(objects);
  return desiredPoolStatus(register, register.poolSet.get(name)!, now);
}
const told = (conditions: Condition[] | undefined) =>
  conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);

const pool = (spec = {}, meta = {}) => poolObject('p', { cidrs: ['10.0.0.0/22'], ...spec }, meta);

describe('how full a pool is', () => {
  test('per CIDR: what nodes hold, what cools, what is reserved, what is left', () => {
    const register = registerOf([
      pool({ cidrs: ['10.0.0.0/22', '10.1.0.0/23'], reserved: ['10.0.3.128/25'] }),
      blockObject('10.0.0.0/24', 'a', { pool: 'p' }),
      blockObject('10.0.1.0/24', 'b', { pool: 'p', phase: 'Cooling' }),
      blockObject('10.1.0.0/24', 'c', { pool: 'p', phase: 'Draining' }),
      nodeObject('d', { podCIDRs: ['10.1.1.0/26'] }),
    ]);
    expect(poolUsage(register, register.poolSet.get('p')!)).toEqual([
      { cidr: '10.0.0.0/22', capacity: 4, assigned: 1, free: 1, cooling: 1, awaitingRelease: 0 },
      { cidr: '10.1.0.0/23', capacity: 2, assigned: 1, free: 0, cooling: 0, awaitingRelease: 0 },
    ]);
  });

  test('a guard is no block, but its cell is not free', () => {
    const register = registerOf([pool(), blockObject('10.0.0.32/27', 'a', { pool: 'p' })]);
    register.putBlock(guard('10.0.0.0/24', ['10.0.0.32/27'], 'p'));
    expect(poolUsage(register, register.poolSet.get('p')!)).toEqual([
      { cidr: '10.0.0.0/22', capacity: 4, assigned: 1, free: 3, cooling: 0, awaitingRelease: 0 },
    ]);
  });

  test('blocks that have rested and wait for a witness are counted by themselves; what time released is free', () => {
    const cooling = { pool: 'p', phase: 'Cooling' } as const;
    const register = registerOf([
      pool({ cooldownSeconds: 60 }),
      blockObject('10.0.0.0/24', 'a', { ...cooling, restedSeconds: 59 }),
      blockObject('10.0.1.0/24', 'b', { ...cooling, restedSeconds: 60 }),
      blockObject('10.0.2.0/24', 'c', {
        ...cooling,
        restedSeconds: 60,
        released: { by: 'Fenced' },
      }),
      blockObject('10.0.3.0/24', 'd', { ...cooling, restedSeconds: 60, released: { by: 'Time' } }),
    ]);
    expect(poolUsage(register, register.poolSet.get('p')!)).toEqual([
      { cidr: '10.0.0.0/22', capacity: 4, assigned: 0, free: 1, cooling: 2, awaitingRelease: 1 },
    ]);
  });

  test('one line for both families speaks of the one that runs out first', () => {
    const dual = pool({ cidrs: ['10.0.0.0/23', 'fd00::/32'] });
    expect(status([dual, blockObject('10.0.0.0/24', 'a', { pool: 'p' })])).toMatchObject({
      capacity: 2,
      assigned: 1,
      free: 1,
    });
  });

  test('more blocks than can be counted are as many as can be counted', () => {
    const huge = pool({ cidrs: ['fd00::/16'], size6: 96 });
    expect(status([huge]).capacity).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('the conditions of a pool', () => {
  test('a pool that serves', () => {
    expect(told(status([pool()]).conditions)).toEqual([
      'Ready True PoolReady',
      'Exhausted False HasFreeBlocks',
      'Conflict False NoConflict',
    ]);
  });

  test('a full one, in the family that is full', () => {
    const full = status([
      pool({ cidrs: ['10.0.0.0/24', 'fd00::/48'] }),
      blockObject('10.0.0.0/24', 'a', { pool: 'p' }),
    ]);
    expect(full.conditions?.[1]).toMatchObject({
      status: 'True',
      reason: 'Exhausted',
      message: 'no free ipv4 block left',
    });
  });

  test('disabled, being deleted, overlapping', () => {
    expect(told(status([pool({ disabled: true })]).conditions)?.[0]).toBe(
      'Ready False PoolDisabled',
    );
    const deleted = pool({}, { deletionTimestamp: second(1) });
    const deleting = status([deleted, blockObject('10.0.0.0/24', 'a', { pool: 'p' })]);
    expect(deleting.conditions?.[0]).toMatchObject({
      reason: 'PoolInUse',
      message: 'being deleted; 1 blocks are still held',
    });
    const older = poolObject('older', { cidrs: ['10.0.0.0/16'] }, { creationTimestamp: second(1) });
    const overlapping = status([older, pool({}, { creationTimestamp: second(2) })]);
    expect(told(overlapping.conditions)).toEqual([
      'Ready False OverlappingPools',
      'Exhausted False HasFreeBlocks',
      'Conflict True OverlappingPools',
    ]);
    expect(overlapping.conditions?.[2]?.message).toContain('of pool older');
  });

  test('each says which generation it speaks of', () => {
    const { observedGeneration, conditions } = status([pool({}, { generation: 7 })]);
    expect(observedGeneration).toBe(7);
    expect(conditions?.map((one) => one.observedGeneration)).toEqual([7, 7, 7]);
  });

  test('they keep their time while their status stays, and get a new one when it turns', () => {
    const before = status([pool()]).conditions?.map((one) => ({
      ...one,
      lastTransitionTime: second(1),
    }));
    const object = { ...pool({ disabled: true }), status: { conditions: before } };
    expect(status([object]).conditions?.map((one) => one.lastTransitionTime)).toEqual([
      now,
      second(1),
      second(1),
    ]);
  });

  test('a change of reason alone is no transition', () => {
    const condition = { type: 'Ready', status: 'False' as const, reason: 'A', message: '' };
    const before = [{ ...condition, lastTransitionTime: second(1) }];
    expect(dated({ ...condition, reason: 'B' }, before, now)).toMatchObject({
      reason: 'B',
      lastTransitionTime: second(1),
    });
    expect(dated(condition, undefined, now).lastTransitionTime).toBe(now);
    expect(dated(condition, [{ ...condition }], now).lastTransitionTime).toBe(now);
  });
});
