/** The moment that is looked at: a line of what happened, to be dragged along. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type PageLocation, setQuery } from './location.ts';
import { timeText } from './parts.tsx';
import { store, useStore } from './store.ts';

const steps = 1_000;
const ticks = 120;

export function TimeBar({ place }: { place: PageLocation }) {
  const { past } = useStore();
  const asked = place.query.get('at') ?? '';
  const version = store.version('entry');
  const { times, firstMs } = useMemo(() => {
    const all = store.all('entry').map(({ atMs }) => atMs);
    return { times: all.sort((a, b) => a - b), firstMs: all.length === 0 ? 0 : Math.min(...all) };
  }, [version]);
  const lastMs = Date.now();
  const span = Math.max(1, lastMs - firstMs);
  const atMs = asked === '' ? lastMs : Date.parse(asked);
  useEffect(() => {
    void store.showPast(asked === '' ? undefined : Date.parse(asked));
  }, [asked]);
  const [dragged, setDragged] = useState<number>();
  const go = (ms: number | undefined) => {
    setDragged(undefined);
    const isNow = ms === undefined || ms >= lastMs - span / steps;
    setQuery({ at: isNow ? '' : new Date(ms).toISOString() });
  };
  // From one thing that happened to the next.
  const before = times.findLast((ms) => ms < atMs - 1);
  const after = times.find((ms) => ms > atMs + 1);
  if (firstMs === 0) return null;
  const shownMs = dragged ?? atMs;
  return (
    <div class={`time-bar ${asked === '' ? '' : 'is-past'}`}>
      <button
        type="button"
        class="quiet"
        disabled={before === undefined}
        onClick={() => go(before)}
      >
        ◀<span class="unseen">To what happened before</span>
      </button>
      <div class="time-line">
        <div class="time-ticks" aria-hidden="true">
          {tickPlaces(times, firstMs, span).map((at) => (
            <i key={at} style={{ left: `${at}%` }} />
          ))}
        </div>
        <input
          type="range"
          aria-label="The moment that is shown"
          aria-valuetext={asked === '' && dragged === undefined ? 'now' : timeText(shownMs)}
          min={0}
          max={steps}
          value={Math.round((steps * (shownMs - firstMs)) / span)}
          onInput={(event) =>
            setDragged(firstMs + (span * Number(event.currentTarget.value)) / steps)
          }
          onChange={(event) => go(firstMs + (span * Number(event.currentTarget.value)) / steps)}
        />
      </div>
      <button type="button" class="quiet" disabled={asked === ''} onClick={() => go(after)}>
        ▶<span class="unseen">To what happened next</span>
      </button>
      <output class="time-shown">
        {asked === '' && dragged === undefined ? 'now' : `as of ${timeText(shownMs)}`}
      </output>
      {asked !== '' && (
        <button type="button" onClick={() => go(undefined)}>
          Back to now
        </button>
      )}
      {past?.trouble && <span class="muted small">{past.trouble}</span>}
    </div>
  );
}

/** In per cent; those that would lie upon each other are one. */
function tickPlaces(times: readonly number[], firstMs: number, span: number): number[] {
  const at = times.map((ms) => Math.round((ticks * (ms - firstMs)) / span));
  return [...new Set(at)].map((place) => (100 * place) / ticks);
}
