/** One CIDR of a pool as a map: which cell is whose, and in what state. Pure. */
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import type { BlockRow, PoolCidr, PoolRow } from '../rows.ts';
import { type Cell, cellOf, type MapShape, mapShape, maxCellBits } from './space-geometry.ts';

export const cellStates = ['free', 'Active', 'Draining', 'Cooling', 'Guard', 'reserved'] as const;
export type CellStateName = (typeof cellStates)[number];

/** A square of cells. */
export interface Patch extends Cell {
  side: number;
}

export interface SpaceModel {
  pool: PoolRow;
  cidr: PoolCidr;
  prefix: Prefix;
  shape: MapShape;
  /** Blocks in a cell; more than one only where the pool is vast. */
  perCell: bigint;
  /** By cell index: a number of `cellStates`. */
  states: Uint8Array;
  /** By cell index: the block there, or the first of several. */
  blocks: Array<BlockRow | undefined>;
  reserved: Patch[];
  /** Up to how many blocks an ordered strip shows them all at once. */
  isStrip: boolean;
}

const stripBits = 6;

export function landModel(
  pool: PoolRow,
  cidr: PoolCidr,
  blocks: Iterable<BlockRow>,
): SpaceModel | undefined {
  const prefix = parsePrefix(cidr.cidr);
  if (prefix === undefined) return undefined;
  const blockBits = cidr.blockLength - prefix.length;
  const bits = Math.min(blockBits, maxCellBits);
  const shape = mapShape(bits);
  const size = 2 ** bits;
  const perCell = 1n << BigInt(blockBits - bits);
  const model: SpaceModel = {
    pool,
    cidr,
    prefix,
    shape,
    perCell,
    states: new Uint8Array(size),
    blocks: new Array(size),
    reserved: [],
    isStrip: bits <= stripBits,
  };
  for (const text of pool.reserved) reserve(model, text);
  const cellLength = prefix.length + bits;
  for (const block of blocks) {
    const held = parsePrefix(block.cidr);
    if (held === undefined || !prefix.contains(held)) continue;
    const home = held.length > cellLength ? held.parent(cellLength) : held;
    const first = Number(prefix.indexOf(home)) * 2 ** Math.max(0, cellLength - home.length);
    // A block larger than a cell was adopted from before; it fills all of its cells.
    const cells = 2 ** Math.max(0, cellLength - home.length);
    const state = cellStates.indexOf(block.phase);
    for (let at = 0; at < cells; at++) {
      model.states[first + at] = state;
      model.blocks[first + at] ??= block;
    }
  }
  return model;
}

/** An aligned range of a power of four is one square of the curve; of two, two of them. */
function reserve(model: SpaceModel, text: string): void {
  const { prefix, shape, states } = model;
  const range = parsePrefix(text);
  if (range === undefined || !prefix.overlaps(range)) return;
  const inside = prefix.contains(range) ? range : prefix;
  const cellLength = prefix.length + shape.bits;
  const home = inside.length > cellLength ? inside.parent(cellLength) : inside;
  const bits = cellLength - home.length;
  const first = Number(prefix.indexOf(home)) * 2 ** bits;
  states.fill(cellStates.indexOf('reserved'), first, first + 2 ** bits);
  const side = 2 ** Math.floor(bits / 2);
  for (let from = first; from < first + 2 ** bits; from += side * side) {
    const { x, y } = cellOf(shape, from);
    model.reserved.push({ x: x - (x % side), y: y - (y % side), side });
  }
}

export function stateAt(model: SpaceModel, index: number): CellStateName {
  return cellStates[model.states[index] ?? 0] as CellStateName;
}

/** The CIDR of a cell, be it held or free. */
export function cidrAt({ prefix, shape }: SpaceModel, index: number): string {
  return prefix.subPrefix(prefix.length + shape.bits, index).toString();
}

export function indexOfCidr(model: SpaceModel, cidr: string): number | undefined {
  const { prefix, shape } = model;
  const wanted = parsePrefix(cidr);
  if (wanted === undefined || !prefix.contains(wanted)) return undefined;
  const length = prefix.length + shape.bits;
  const home = wanted.length > length ? wanted.parent(length) : wanted;
  return Number(prefix.indexOf(home)) * 2 ** Math.max(0, length - home.length);
}
