/** The routes as a drawing: routers, the nodes at which traffic enters, and whose block it is for. */
import { plural } from '../../base/count-text.ts';
import type { PictureNode, PictureWay, RoutePicture } from '../../plan/doctor/route-picture.ts';
import { html, type Markup } from './markup.ts';

/** Beyond this the nodes without anything wrong are only counted. */
const mostNodes = 30;
const rowHeight = 26;
const gap = 10;
const columns = { router: 20, node: 350, block: 680 };
const boxWidth = 250;
const width = columns.block + boxWidth + 20;

interface Place {
  y: number;
  height: number;
}

export function drawRoutes(picture: RoutePicture): Markup {
  const { routers, strays, ways } = picture;
  const { shown, folded } = foldedNodes(picture.nodes);
  const nodes = new Map<string, Place>();
  const blocks = new Map<string, Place>();
  let y = 34;
  for (const { name, blocks: own } of shown) {
    const height = Math.max(1, own.length) * rowHeight;
    nodes.set(name, { y, height });
    own.forEach(({ cidr }, at) => {
      blocks.set(`${name} ${cidr}`, { y: y + at * rowHeight, height: rowHeight });
    });
    y += height + gap;
  }
  for (const cidr of strays) {
    blocks.set(` ${cidr}`, { y, height: rowHeight });
    y += rowHeight + gap;
  }
  const total = Math.max(y, 34 + routers.length * (rowHeight + gap));
  const step = (total - 34) / Math.max(1, routers.length);
  const routerPlaces = new Map(
    routers.map((name, at) => [
      name,
      { y: 34 + at * step + (step - gap - rowHeight) / 2, height: rowHeight },
    ]),
  );
  const lines = [...routerLines(ways, routerPlaces, nodes), ...blockLines(ways, nodes, blocks)];
  // Red lines lie over the others.
  lines.sort((a, b) => Number(a.isWrong) - Number(b.isWrong));
  const words = wordsOf(picture, folded);
  return html`<figure>
<svg viewBox="0 0 ${width} ${Math.ceil(total)}" role="img" aria-label="${words}">
<text class="head" x="${columns.router}" y="16">router</text>
<text class="head" x="${columns.node}" y="16">node where traffic enters</text>
<text class="head" x="${columns.block}" y="16">block, and whose it is</text>
${lines.map(({ markup }) => markup)}
${[...routerPlaces].map(([name, place]) => box(columns.router, place, name, ''))}
${shown.map(({ name, isConcerned }) => box(columns.node, nodes.get(name)!, name, isConcerned ? 'concerned' : ''))}
${shown.flatMap(({ name, blocks: own }) =>
  own.map(({ cidr, isReached }) =>
    box(
      columns.block,
      blocks.get(`${name} ${cidr}`)!,
      isReached ? `${cidr} ${name}` : `${cidr} ${name}: no route`,
      isReached ? '' : 'unreached',
    ),
  ),
)}
${strays.map((cidr) => box(columns.block, blocks.get(` ${cidr}`)!, `${cidr} nobody's`, 'unreached'))}
</svg>
<figcaption>${words}</figcaption>
</figure>`;
}

/** Of many nodes those that a finding may be about come first; the rest is counted. */
function foldedNodes(nodes: readonly PictureNode[]): { shown: PictureNode[]; folded: number } {
  if (nodes.length <= mostNodes) return { shown: [...nodes], folded: 0 };
  const shown = nodes.filter(({ isConcerned }) => isConcerned).slice(0, mostNodes);
  return { shown, folded: nodes.length - shown.length };
}

function wordsOf({ routers, ways }: RoutePicture, folded: number): string {
  const wrong = new Set(ways.filter(({ isWrong }) => isWrong).map(({ prefix }) => prefix)).size;
  return [
    routers.length === 0
      ? 'No router was asked, and what nodes announce is not known.'
      : `${plural(wrong, 'block')} of ${new Set(ways.map(({ prefix }) => prefix)).size} with a route enter at a wrong node (red).`,
    ...(folded > 0 ? [`${plural(folded, 'node')} are not drawn.`] : []),
  ].join(' ');
}

interface Line {
  isWrong: boolean;
  markup: Markup;
}

/** One line for all that a router leads to a node. */
function routerLines(
  ways: readonly PictureWay[],
  routers: ReadonlyMap<string, Place>,
  nodes: ReadonlyMap<string, Place>,
): Line[] {
  const joined = new Map<string, PictureWay[]>();
  for (const way of ways) {
    const key = JSON.stringify([way.router, way.at]);
    joined.set(key, [...(joined.get(key) ?? []), way]);
  }
  return [...joined.values()].flatMap((all) => {
    const { router, at } = all[0]!;
    const [from, to] = [routers.get(router), nodes.get(at)];
    if (from === undefined || to === undefined) return [];
    const wrong = all.filter(({ isWrong }) => isWrong);
    const prefixes = (wrong.length > 0 ? wrong : all).map(({ prefix }) => prefix).slice(0, 8);
    const title = `${router} leads ${prefixes.join(', ')} to ${at}`;
    return [line(columns.router + boxWidth, from, columns.node, to, wrong.length > 0, title)];
  });
}

function blockLines(
  ways: readonly PictureWay[],
  nodes: ReadonlyMap<string, Place>,
  blocks: ReadonlyMap<string, Place>,
): Line[] {
  const seen = new Set<string>();
  return ways.flatMap(({ prefix, at, owner, isWrong }) => {
    const key = JSON.stringify([prefix, at]);
    const [from, to] = [nodes.get(at), blocks.get(`${owner ?? ''} ${prefix}`)];
    if (seen.has(key) || from === undefined || to === undefined) return [];
    seen.add(key);
    const title = isWrong
      ? `${prefix} of ${owner ?? 'nobody'} enters at ${at}`
      : `${prefix} of ${at}`;
    return [line(columns.node + boxWidth, from, columns.block, to, isWrong, title)];
  });
}

function line(
  x1: number,
  from: Place,
  x2: number,
  to: Place,
  isWrong: boolean,
  title: string,
): Line {
  const [y1, y2] = [middle(from), middle(to)];
  const bend = (x1 + x2) / 2;
  const path = `M${x1} ${y1} C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`;
  const markup = html`<path class="${isWrong ? 'way wrong' : 'way'}" d="${path}"><title>${title}</title></path>
`;
  return { isWrong, markup };
}

const middle = ({ y, height }: Place) => y + (height - 6) / 2;

/** A name may have 253 letters; what does not fit is in the title. */
const mostLetters = 32;

function box(x: number, { y, height }: Place, text: string, kind: string): Markup {
  const short = text.length > mostLetters ? `${text.slice(0, mostLetters - 1)}…` : text;
  return html`<g class="box ${kind}"><title>${text}</title><rect x="${x}" y="${y}" width="${boxWidth}" height="${height - 6}" rx="4"/><text x="${x + 8}" y="${y + 15}">${short}</text></g>
`;
}
