/**
 * Where a block lies on the map. A Hilbert curve keeps neighbours in the address
 * space neighbours on paper: every aligned range is one connected patch. With an
 * odd number of bits the map is two squares side by side, the curve of the
 * second beginning where that of the first ends.
 */

/** Above this the cells of a map stand for several blocks each. */
export const maxCellBits = 16;

export interface MapShape {
  /** 2^bits cells. */
  bits: number;
  /** Of one square. */
  order: number;
  columns: number;
  rows: number;
}

export function mapShape(bits: number): MapShape {
  const order = Math.floor(bits / 2);
  const side = 2 ** order;
  return { bits, order, rows: side, columns: bits % 2 === 0 ? side : 2 * side };
}

export interface Cell {
  x: number;
  y: number;
}

export function cellOf(shape: MapShape, index: number): Cell {
  const square = 4 ** shape.order;
  const half = Math.floor(index / square);
  const { x, y } = hilbertPoint(shape.order, index % square);
  return { x: x + half * 2 ** shape.order, y };
}

export function indexOf(shape: MapShape, { x, y }: Cell): number {
  const side = 2 ** shape.order;
  const half = Math.floor(x / side);
  return half * side * side + hilbertIndex(shape.order, x % side, y);
}

/** The d-th point of the curve that enters at the upper left and leaves at the upper right. */
function hilbertPoint(order: number, index: number): Cell {
  let x = 0;
  let y = 0;
  let rest = index;
  for (let side = 1; side < 2 ** order; side *= 2) {
    const right = 1 & (rest >> 1);
    const down = 1 & (rest ^ right);
    if (down === 0) {
      if (right === 1) {
        x = side - 1 - x;
        y = side - 1 - y;
      }
      [x, y] = [y, x];
    }
    x += side * right;
    y += side * down;
    rest >>= 2;
  }
  return { x, y };
}

function hilbertIndex(order: number, column: number, row: number): number {
  let x = column;
  let y = row;
  let index = 0;
  for (let side = 2 ** order / 2; side >= 1; side /= 2) {
    const right = (x & side) > 0 ? 1 : 0;
    const down = (y & side) > 0 ? 1 : 0;
    index += side * side * ((3 * right) ^ down);
    if (down === 0) {
      if (right === 1) {
        x = side - 1 - (x & (side - 1));
        y = side - 1 - (y & (side - 1));
      } else {
        x &= side - 1;
        y &= side - 1;
      }
      [x, y] = [y, x];
    } else {
      x &= side - 1;
      y &= side - 1;
    }
  }
  return index;
}
