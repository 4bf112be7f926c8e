/** Lines from a cell that names another node's block to that node's own row. */

import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TruthLine } from './use-truth.ts';

interface Drawn {
  key: string;
  path: string;
  end: { x: number; y: number };
}

export function TruthLines(props: {
  frame: RefObject<HTMLDivElement | null>;
  lines: readonly TruthLine[];
  version: string;
}) {
  const { frame, lines, version } = props;
  const [drawn, setDrawn] = useState<{ paths: Drawn[]; width: number; height: number }>({
    paths: [],
    width: 0,
    height: 0,
  });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const measure = () => setDrawn(measureLines(element, lines));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [version]);
  return (
    <svg
      class="truth-lines"
      width={drawn.width}
      height={drawn.height}
      viewBox={`0 0 ${drawn.width} ${drawn.height}`}
      aria-hidden="true"
      data-lines={drawn.paths.length}
    >
      {drawn.paths.map(({ key, path, end }) => (
        <g key={key}>
          <path d={path} />
          <circle cx={end.x} cy={end.y} r="3.5" />
        </g>
      ))}
    </svg>
  );
}

/** More than this is a carpet: then the colours of the cells must do. */
const mostLines = 200;

function measureLines(frame: HTMLElement, lines: readonly TruthLine[]) {
  const box = frame.getBoundingClientRect();
  const cells = new Map<string, DOMRect>();
  for (const cell of frame.querySelectorAll<HTMLElement>('td[data-node]')) {
    const inner = cell.firstElementChild ?? cell;
    cells.set(`${cell.dataset.node} ${cell.dataset.column}`, inner.getBoundingClientRect());
  }
  const paths: Drawn[] = [];
  for (const { node, column, cidr, owner } of lines.slice(0, mostLines)) {
    const from = cells.get(`${node} ${column}`);
    const to = cells.get(`${owner} truth`);
    if (from === undefined || to === undefined) continue;
    const start = { x: from.left - box.left - 3, y: from.top + from.height / 2 - box.top };
    const end = { x: to.right - box.left + 7, y: to.top + to.height / 2 - box.top };
    const bend = (start.x - end.x) / 2;
    paths.push({
      key: `${node} ${column} ${cidr}`,
      path: `M${start.x} ${start.y}C${start.x - bend} ${start.y} ${end.x + bend} ${end.y} ${end.x} ${end.y}`,
      end,
    });
  }
  return { paths, width: frame.scrollWidth, height: frame.scrollHeight };
}
