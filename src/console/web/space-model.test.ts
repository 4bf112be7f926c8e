import { expect, test } from 'vitest';
import type { BlockRow, PoolRow } from '../rows.ts';
import { cidrAt, indexOfCidr, landModel, stateAt } from './space-model.ts';

const pool = (cidr: string, blockLength: number, reserved: string[] = []): PoolRow => ({
  name: 'p',
  cidrs: [{ cidr, blockLength, capacity: 0, assigned: 0, awaitingRelease: 0, cooling: 0, free: 0 }],
  reserved,
  selector: '',
  priority: 0,
  cooldownSeconds: 0,
  disabled: false,
  state: 'Ready',
  message: '',
  createdMs: 0,
});

const block = (cidr: string, phase: BlockRow['phase'] = 'Active'): BlockRow => ({
  cidr,
  pool: 'p',
  node: 'n',
  phase,
  sinceMs: 0,
});

function model(cidr: string, length: number, blocks: BlockRow[], reserved: string[] = []) {
  const row = pool(cidr, length, reserved);
  const made = landModel(row, row.cidrs[0]!, blocks);
  if (made === undefined) throw new Error('no model');
  return made;
}

test('each block lies in its own cell, in the order of addresses', () => {
  const space = model('10.5.112.0/21', 24, [
    block('10.5.112.0/24'),
    block('10.5.119.0/24', 'Cooling'),
  ]);
  expect(Array.from({ length: 8 }, (_, index) => stateAt(space, index))).toEqual([
    'Active',
    ...Array(6).fill('free'),
    'Cooling',
  ]);
  expect(space.isStrip).toBe(true);
  expect(cidrAt(space, 3)).toBe('10.5.115.0/24');
  expect(indexOfCidr(space, '10.5.115.0/24')).toBe(3);
  expect(indexOfCidr(space, '10.5.120.0/24')).toBeUndefined();
});

test('blocks outside its CIDR are left out, odd sizes fill what they cover', () => {
  const space = model('10.5.112.0/21', 24, [
    block('10.6.0.0/24'),
    block('10.5.114.0/23'),
    block('10.5.117.128/25'),
  ]);
  expect([...space.states].map((state) => state > 0)).toEqual([
    false,
    false,
    true,
    true,
    false,
    true,
    false,
    false,
  ]);
});

test('what is reserved is as many cells as it is long, in squares', () => {
  const space = model('10.64.0.0/12', 24, [], ['10.64.0.0/20', '10.72.0.0/16', '10.80.0.0/23']);
  const reserved = [...space.states].filter((state) => state === 5).length;
  expect(reserved).toBe(16 + 256);
  expect(space.reserved.reduce((sum, { side }) => sum + side * side, 0)).toBe(16 + 256);
  for (const { x, y, side } of space.reserved) expect([x % side, y % side]).toEqual([0, 0]);
});

test('a vast pool is shown with many blocks a cell', () => {
  const space = model('fd00::/32', 64, [block('fd00:0:0:1::/64'), block('fd00:0:ffff:ffff::/64')]);
  expect(space.states.length).toBe(65_536);
  expect(space.perCell).toBe(65_536n);
  expect(space.states[0]).toBe(1);
  expect(space.states[65_535]).toBe(1);
  expect(cidrAt(space, 1)).toBe('fd00:0:1::/48');
});
