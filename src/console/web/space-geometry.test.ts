import { describe, expect, test } from 'vitest';
import { cellOf, indexOf, mapShape } from './space-geometry.ts';

describe.each([2, 3, 4, 5, 8, 9, 12])('a map of 2^%i blocks', (bits) => {
  const shape = mapShape(bits);
  const cells = Array.from({ length: 2 ** bits }, (_, index) => cellOf(shape, index));

  test('has a place for every block, and a block for every place', () => {
    const places = new Set(cells.map(({ x, y }) => `${x} ${y}`));
    expect(places.size).toBe(2 ** bits);
    expect(shape.columns * shape.rows).toBe(2 ** bits);
    expect(cells.every(({ x, y }) => x < shape.columns && y < shape.rows)).toBe(true);
    expect(cells.map((cell) => indexOf(shape, cell))).toEqual(cells.map((_, index) => index));
  });

  test('keeps neighbours together: from each block to the next is one step', () => {
    for (const [index, { x, y }] of cells.entries()) {
      const next = cells[index + 1];
      if (next === undefined) continue;
      expect(Math.abs(next.x - x) + Math.abs(next.y - y), `${index}`).toBe(1);
    }
  });

  test('an aligned range of four is a square', () => {
    for (let first = 0; first < 2 ** bits; first += 4) {
      const four = cells.slice(first, first + 4);
      const width = Math.max(...four.map(({ x }) => x)) - Math.min(...four.map(({ x }) => x));
      const height = Math.max(...four.map(({ y }) => y)) - Math.min(...four.map(({ y }) => y));
      expect([width, height]).toEqual([1, 1]);
    }
  });
});
