/**
 * Pings on their way. Where a ping goes and whether it arrives was computed at the site; here
 * a dot moves along that way. Who wants no motion sees each dot where its ping ends.
 */
import { useEffect, useRef } from 'preact/hooks';
import type { StoryPingRow } from '../story-row.ts';
import { along, type SitePlan, wayOf } from './story-geometry.ts';

const periodMs = 2_600;
/** The last part of a period: it has arrived, or is lost. */
const restPart = 0.18;

export function StoryDots({ pings, plan }: { pings: readonly StoryPingRow[]; plan: SitePlan }) {
  const group = useRef<SVGGElement>(null);
  const shown = useRef({ pings, plan });
  shown.current = { pings, plan };
  useEffect(() => {
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    let frame = 0;
    const draw = (nowMs: number) => {
      const dots = group.current?.children ?? [];
      for (const [index, ping] of shown.current.pings.entries()) {
        const dot = dots[index];
        if (dot === undefined) continue;
        const turn = isStill ? 1 : (nowMs / periodMs + index / shown.current.pings.length) % 1;
        place(dot, ping, shown.current.plan, turn / (1 - restPart));
      }
      if (!isStill) frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [pings.length]);
  return (
    <g class="story-dots" ref={group}>
      {pings.map(({ pod, router, way }) => (
        <g key={`${pod} ${router}`} data-ping={`${pod} ${router}`} data-way={way}>
          <circle r="5" />
          <path d="M-4 -4L4 4M4 -4L-4 4" />
        </g>
      ))}
    </g>
  );
}

function place(dot: Element, ping: StoryPingRow, plan: SitePlan, part: number): void {
  const way = wayOf(plan, ping);
  const { at, leg } = along(way, part);
  const isThere = part >= 1;
  const style =
    ping.way === 'lost' && isThere ? 'lost' : way[leg + 1]?.isDetour ? 'detour' : 'well';
  dot.setAttribute('transform', `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
  dot.setAttribute('class', `dot dot-${style}${isThere ? ' dot-there' : ''}`);
}
