/** Where the machines of a site are drawn, and along which line a ping moves. Pure. */
import type { StoryPingRow, StorySiteRow } from '../story-row.ts';

export interface Point {
  x: number;
  y: number;
}

export const sheet = { width: 600, height: 372 };
export const nodeBox = { width: 136, height: 74 };
export const routerBox = { width: 150, height: 46 };
export const podBox = { width: 116, height: 40 };

const rows = { outside: 22, router: 106, node: 226, pod: 334 };

export interface SitePlan {
  outside: Point;
  /** By name. */
  routers: ReadonlyMap<string, Point>;
  nodes: ReadonlyMap<string, Point>;
  /** Below its node. */
  pods: ReadonlyMap<string, Point>;
}

export function planOf({ routers, nodes }: Pick<StorySiteRow, 'routers' | 'nodes'>): SitePlan {
  const spread = (names: readonly string[], y: number, width: number) =>
    new Map(
      names.map((name, index) => [
        name,
        { x: (sheet.width - width) / 2 + ((index + 0.5) * width) / names.length, y },
      ]),
    );
  const names = nodes.map(({ name }) => name);
  return {
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

/** From outside, from machine to machine, to the pod; a lost one ends at the last machine. */
export function wayOf(
  { outside, routers, nodes, pods }: SitePlan,
  { hops, way, node }: Pick<StoryPingRow, 'hops' | 'way' | 'node'>,
): Point[] {
  const machines = hops.flatMap((name) => routers.get(name) ?? nodes.get(name) ?? []);
  const pod = pods.get(node);
  return [outside, ...machines, ...(way === 'lost' || pod === undefined ? [] : [pod])];
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
export function bow(from: Point, to: Point): string {
  const depth = nodeBox.height / 2 + 10 + Math.abs(from.x - to.x) * 0.06;
  const y = from.y + nodeBox.height / 2;
  return `M${from.x} ${y}C${from.x} ${y + depth} ${to.x} ${y + depth} ${to.x} ${y}`;
}
