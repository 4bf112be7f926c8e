/** Lines between what is on the map: measured where the boxes are, drawn behind them. */
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** From box to box: `router tor1`, `node master1`, `rack rack-94`. */
export interface MapLine {
  from: string;
  to: string;
  kind: 'session' | 'down' | 'wrong' | 'passed-on' | 'way' | 'way-wrong';
}

interface Drawn extends MapLine {
  path: string;
}

export function MapLines(props: {
  frame: RefObject<HTMLDivElement | null>;
  lines: readonly MapLine[];
  /** Of everything that moves boxes. */
  version: string;
}) {
  const { frame, lines, version } = props;
  const [drawn, setDrawn] = useState<{ paths: Drawn[]; width: number; height: number }>({
    ...{ paths: [], width: 0, height: 0 },
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
  const { width, height, paths } = drawn;
  return (
    <svg
      class="map-lines"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
    >
      {paths.map(({ from, to, kind, path }) => (
        <path
          key={`${from} ${to} ${kind}`}
          class={`line-${kind}`}
          d={path}
          data-line={`${from} > ${to}`}
        />
      ))}
    </svg>
  );
}

function measureLines(frame: HTMLElement, lines: readonly MapLine[]) {
  const box = frame.getBoundingClientRect();
  const places = new Map<string, DOMRect>();
  for (const place of frame.querySelectorAll<HTMLElement>('[data-place]')) {
    places.set(place.dataset.place ?? '', place.getBoundingClientRect());
  }
  const paths = lines.flatMap((line): Drawn[] => {
    const from = places.get(line.from);
    const to = places.get(line.to);
    if (from === undefined || to === undefined) return [];
    return [{ ...line, path: between(from, to, box) }];
  });
  return { paths, width: frame.clientWidth, height: frame.clientHeight };
}

/** Down from a router to a box; between two boxes of one height, a bow below them. */
function between(from: DOMRect, to: DOMRect, box: DOMRect): string {
  const start = { x: from.left + from.width / 2 - box.left, y: from.bottom - box.top };
  const isBelow = to.top > from.bottom - 4;
  const end = {
    x: to.left + to.width / 2 - box.left,
    y: (isBelow ? to.top : to.bottom) - box.top,
  };
  if (isBelow) {
    const half = (end.y - start.y) / 2;
    return `M${start.x} ${start.y}C${start.x} ${start.y + half} ${end.x} ${end.y - half} ${end.x} ${end.y}`;
  }
  const depth = 18 + Math.abs(start.x - end.x) * 0.05;
  const low = Math.max(start.y, end.y) + depth;
  return `M${start.x} ${start.y}C${start.x} ${low} ${end.x} ${low} ${end.x} ${end.y}`;
}
