/**
 * Paints the map. All cells are one small picture, a pixel each, that the canvas
 * scales up; only what is in sight and special (hatching, outlines, names) is
 * drawn piece by piece. So a frame costs the same for 64 and for 65,536 blocks.
 */

import { css, type Ink, tint } from './palette.ts';
import { cellOf, type MapShape } from './space-geometry.ts';
import { cellStates, type SpaceModel } from './space-model.ts';

export interface Sight {
  /** Pixels a cell. */
  scale: number;
  /** Of the map's upper left corner, in pixels. */
  left: number;
  top: number;
}

export interface MapPicture {
  cells: OffscreenCanvas | HTMLCanvasElement;
  cooling: number[];
}

const cooling = cellStates.indexOf('Cooling');
const free = cellStates.indexOf('free');
const reserved = cellStates.indexOf('reserved');

/** `tintOf`: the tint of a block's owner. */
export function paintCells(
  model: SpaceModel,
  ink: Ink,
  tintOf: (index: number) => number,
): MapPicture {
  const { shape, states } = model;
  const canvas = document.createElement('canvas');
  canvas.width = shape.columns;
  canvas.height = shape.rows;
  const context = canvas.getContext('2d');
  const picture: MapPicture = { cells: canvas, cooling: [] };
  if (context === null) return picture;
  const image = context.createImageData(shape.columns, shape.rows);
  const freeColour = parseColour(ink.space);
  const paper = parseColour(ink.paper);
  for (let index = 0; index < states.length; index++) {
    const state = states[index] as number;
    const colour =
      state === free
        ? freeColour
        : state === reserved
          ? mix(freeColour, paper)
          : tint(tintOf(index), ink.isDark);
    const shown = state === cooling ? mix(colour, paper) : colour;
    if (state === cooling) picture.cooling.push(index);
    const { x, y } = cellOf(shape, index);
    const at = 4 * (y * shape.columns + x);
    image.data[at] = shown[0];
    image.data[at + 1] = shown[1];
    image.data[at + 2] = shown[2];
    image.data[at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return picture;
}

export interface PaintInput {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  sight: Sight;
  model: SpaceModel;
  picture: MapPicture;
  ink: Ink;
  disputed: readonly number[];
  selected: number | undefined;
  hovered: number | undefined;
  nameAt: (index: number) => { title: string; subtitle: string };
}

export function paintMap(input: PaintInput): void {
  const { context, width, height, sight, model, picture, ink } = input;
  const { scale, left, top } = sight;
  const { shape } = model;
  context.fillStyle = ink.paper;
  context.fillRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture.cells, left, top, shape.columns * scale, shape.rows * scale);
  const hatch = hatching(context, ink);
  if (hatch !== null) {
    context.fillStyle = hatch;
    for (const { x, y, side } of model.reserved) {
      context.fillRect(left + x * scale, top + y * scale, side * scale, side * scale);
    }
    if (scale >= 4) for (const index of picture.cooling) fillCell(input, index);
  }
  drawGrid(input);
  drawNames(input);
  context.lineJoin = 'miter';
  context.strokeStyle = ink.alert;
  context.lineWidth = Math.max(1.5, Math.min(3, scale / 8));
  for (const index of input.disputed) strokeCell(input, index, Math.max(scale, 4));
  if (input.hovered !== undefined) {
    context.strokeStyle = ink.ink;
    context.lineWidth = 1;
    strokeCell(input, input.hovered, scale);
  }
  if (input.selected !== undefined) {
    context.strokeStyle = ink.ink;
    context.lineWidth = 2.5;
    strokeCell(input, input.selected, Math.max(scale, 6));
  }
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, shape.columns * scale + 1, shape.rows * scale + 1);
}

function fillCell({ context, sight, model }: PaintInput, index: number): void {
  const { x, y } = cellOf(model.shape, index);
  const { scale, left, top } = sight;
  context.fillRect(left + x * scale, top + y * scale, scale, scale);
}

function strokeCell({ context, sight, model }: PaintInput, index: number, size: number): void {
  const { x, y } = cellOf(model.shape, index);
  const { scale, left, top } = sight;
  const spare = (size - scale) / 2;
  context.strokeRect(
    left + x * scale - spare + 0.5,
    top + y * scale - spare + 0.5,
    size - 1,
    size - 1,
  );
}

/** Lines between cells where they can be seen, and stronger ones around larger squares. */
function drawGrid({ context, width, height, sight, model: { shape }, ink }: PaintInput): void {
  const { scale, left, top } = sight;
  for (const step of gridSteps(shape, scale)) {
    const pixels = step * scale;
    context.strokeStyle = ink.paper;
    context.globalAlpha = step === 1 ? 0.9 : 0.75;
    context.lineWidth = step === 1 ? Math.min(1, scale / 12) : 1.5;
    context.beginPath();
    const firstX = Math.max(0, Math.ceil(-left / pixels));
    const lastX = Math.min(shape.columns / step, Math.floor((width - left) / pixels));
    for (let at = firstX; at <= lastX; at++) {
      context.moveTo(left + at * pixels, Math.max(0, top));
      context.lineTo(left + at * pixels, Math.min(height, top + shape.rows * scale));
    }
    const firstY = Math.max(0, Math.ceil(-top / pixels));
    const lastY = Math.min(shape.rows / step, Math.floor((height - top) / pixels));
    for (let at = firstY; at <= lastY; at++) {
      context.moveTo(Math.max(0, left), top + at * pixels);
      context.lineTo(Math.min(width, left + shape.columns * scale), top + at * pixels);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

function gridSteps(shape: MapShape, scale: number): number[] {
  const steps: number[] = [];
  for (let step = 1; step <= shape.rows / 2; step *= step === 1 ? 4 : 4) {
    if (step * scale >= (step === 1 ? 5 : 48)) steps.push(step);
  }
  return steps;
}

function drawNames(input: PaintInput): void {
  const { context, width, height, sight, model, ink, nameAt } = input;
  const { scale, left, top } = sight;
  if (scale < 58) return;
  const { shape } = model;
  const size = Math.min(13, scale / 6.2);
  context.fillStyle = ink.ink;
  context.textBaseline = 'top';
  const byPlace = placesInSight(shape, width, height, sight);
  for (const { index, x, y } of byPlace) {
    const { title, subtitle } = nameAt(index);
    context.globalAlpha = subtitle === '' ? 0.55 : 1;
    context.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.fillText(title, left + x * scale + 5, top + y * scale + 5, scale - 10);
    if (subtitle === '') continue;
    context.font = `600 ${size}px ui-sans-serif, system-ui, sans-serif`;
    context.fillText(subtitle, left + x * scale + 5, top + y * scale + 9 + size, scale - 10);
  }
  context.globalAlpha = 1;
}

function placesInSight(shape: MapShape, width: number, height: number, sight: Sight) {
  const { scale, left, top } = sight;
  const places: Array<{ index: number; x: number; y: number }> = [];
  const inSight = (from: number, to: number, most: number) =>
    [Math.max(0, Math.floor(from)), Math.min(most - 1, Math.floor(to))] as const;
  const [x0, x1] = inSight(-left / scale, (width - left) / scale, shape.columns);
  const [y0, y1] = inSight(-top / scale, (height - top) / scale, shape.rows);
  const indexes = lookup(shape);
  for (let y = y0; y <= y1; y++) {
    for (let x = x0; x <= x1; x++) {
      places.push({ x, y, index: indexes[y * shape.columns + x] as number });
    }
  }
  return places;
}

const lookups = new Map<number, Uint32Array>();

/** From place to index, worked out once a shape. */
export function lookup(shape: MapShape): Uint32Array {
  const known = lookups.get(shape.bits);
  if (known !== undefined) return known;
  const made = new Uint32Array(2 ** shape.bits);
  for (let index = 0; index < made.length; index++) {
    const { x, y } = cellOf(shape, index);
    made[y * shape.columns + x] = index;
  }
  lookups.set(shape.bits, made);
  return made;
}

let madeHatch: { ink: string; pattern: CanvasPattern | null } | undefined;

function hatching(context: CanvasRenderingContext2D, ink: Ink): CanvasPattern | null {
  if (madeHatch?.ink === ink.muted) return madeHatch.pattern;
  const tile = document.createElement('canvas');
  tile.width = 6;
  tile.height = 6;
  const pen = tile.getContext('2d');
  if (pen === null) return null;
  pen.strokeStyle = ink.muted;
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  madeHatch = { ink: ink.muted, pattern: context.createPattern(tile, 'repeat') };
  return madeHatch.pattern;
}

type Colour = readonly [number, number, number];

function mix(a: Colour, b: Colour): Colour {
  return [0, 1, 2].map((at) => Math.round(((a[at] ?? 0) + (b[at] ?? 0)) / 2)) as unknown as Colour;
}

/** `#rrggbb`, as the style sheet writes it. */
function parseColour(text: string): Colour {
  const value = Number.parseInt(text.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export { css };
