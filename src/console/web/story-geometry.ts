/** Where the machines of a site are drawn, and along which line a ping moves. Pure. */
import type { StoryPingRow, StorySiteRow } from '../story-row.ts';

export interface Point {
  x: number;
  y: number;
}

export interface Box {
  width: number;
  height: number;
}

/** The sheet and what is drawn on it; on a phone letters are to stay as large as elsewhere. */
export interface Shapes {
  sheet: Box;
  node: Box;
  router: Box;
  pod: Box;
  isNarrow: boolean;
}

export function shapesOf(isNarrow: boolean): Shapes {
  return {
    sheet: { width: isNarrow ? 392 : 600, height: 372 },
    node: { width: isNarrow ? 93 : 136, height: 74 },
    router: { width: isNarrow ? 124 : 150, height: 46 },
    pod: { width: isNarrow ? 90 : 116, height: 40 },
    isNarrow,
  };
}

const rows = { outside: 22, router: 106, node: 226, pod: 334 };

export interface SitePlan {
  shapes: Shapes;
  outside: Point;
  /** By name. */
  routers: ReadonlyMap<string, Point>;
  nodes: ReadonlyMap<string, Point>;
  /** Below its node. */
  pods: ReadonlyMap<string, Point>;
}

export function planOf(
  { routers, nodes }: Pick<StorySiteRow, 'routers' | 'nodes'>,
  shapes: Shapes,
): SitePlan {
  const { sheet } = shapes;
  const spread = (names: readonly string[], y: number, width: number) =>
    new Map(
      names.map((name, index) => [
        name,
        { x: (sheet.width - width) / 2 + ((index + 0.5) * width) / names.length, y },
      ]),
    );
  const names = nodes.map(({ name }) => name);
  return {
    shapes,
    outside: { x: sheet.width / 2, y: rows.outside },
    routers: spread(
      routers.map(({ name }) => name),
      rows.router,
      sheet.width * 0.84,
    ),
    nodes: spread(names, rows.node, sheet.width),
    pods: spread(names, rows.pod, sheet.width),
  };
}

/** A point of a ping's way. */
export interface WayPoint extends Point {
  /** It comes here from a node that has nothing to do with it. */
  isDetour?: true;
}

/** From outside, from machine to machine, to the pod; a lost one ends just below the last machine. */
export function wayOf(
  plan: SitePlan,
  { hops, way, node }: Pick<StoryPingRow, 'hops' | 'way' | 'node'>,
): WayPoint[] {
  const { outside, routers, nodes, pods, shapes } = plan;
  const points: WayPoint[] = [outside];
  let passedOn: Point | undefined;
  for (const name of hops) {
    const at = routers.get(name) ?? nodes.get(name);
    if (at === undefined) continue;
    if (passedOn !== undefined) {
      const mid = { x: (passedOn.x + at.x) / 2, y: lowest(shapes, passedOn, at) };
      points.push({ ...mid, isDetour: true }, { ...at, isDetour: true });
    } else points.push(at);
    if (nodes.has(name)) passedOn = at;
  }
  const last: WayPoint = points.at(-1) ?? outside;
  const pod = pods.get(node);
  if (way === 'lost') return [...points, { x: last.x, y: last.y + shapes.router.height / 2 + 16 }];
  if (pod === undefined) return points;
  return [...points, last.isDetour ? { ...pod, isDetour: true } : pod];
}

/** Where a ping is after a part of its way (0 to 1), and on which leg. */
export function along(points: readonly Point[], part: number): { at: Point; leg: number } {
  const [first = { x: 0, y: 0 }] = points;
  const lengths = points.slice(1).map((point, index) => distance(points[index] ?? first, point));
  let left = lengths.reduce((sum, length) => sum + length, 0) * Math.min(Math.max(part, 0), 1);
  for (const [leg, length] of lengths.entries()) {
    const from = points[leg] ?? first;
    const to = points[leg + 1] ?? from;
    if (left <= length && length > 0) {
      const share = left / length;
      const at = { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
      return { at, leg };
    }
    left -= length;
  }
  return { at: points.at(-1) ?? first, leg: Math.max(0, lengths.length - 1) };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** A bow below two nodes that stand in one row: the way of a packet that is passed on. */
export function bow({ node }: Shapes, from: Point, to: Point): string {
  const y = from.y + node.height / 2;
  const depth = bowDepth(from, to);
  // Beside the line to the pod, so that the arrow is seen.
  const end = to.x + (from.x < to.x ? -14 : 14);
  return `M${from.x} ${y}C${from.x} ${y + depth} ${end} ${y + depth} ${end} ${y + 7}`;
}

function bowDepth(from: Point, to: Point): number {
  return 26 + Math.abs(from.x - to.x) * 0.05;
}

/** A cubic curve comes three quarters as far as its handles. */
function lowest({ node }: Shapes, from: Point, to: Point): number {
  return from.y + node.height / 2 + 0.75 * bowDepth(from, to);
}
