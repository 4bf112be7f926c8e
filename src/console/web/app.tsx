/** The frame around every view: names, figures, whether it is live, keys. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ViewName, views, viewTitles } from '../views.ts';
import { AddressSpace } from './address-space.tsx';
import { Consistency } from './consistency.tsx';
import { Events } from './events.tsx';
import { FindBox } from './find-box.tsx';
import { address, followLinks, go, usePlace } from './location.ts';
import { MapView } from './map.tsx';
import { Nodes } from './nodes.tsx';
import { spacedCount } from './parts.tsx';
import { Routes } from './routes.tsx';
import { type RowStore, store, useStore } from './store.ts';
import { StoryView } from './story.tsx';
import { SubjectPage } from './subject-page.tsx';
import { applyTheme, readTheme, type Theme } from './theme.ts';
import { TimeBar } from './time-bar.tsx';
import { TryItView } from './try.tsx';
import { useTruth } from './use-truth.ts';

/** Views that can show a past moment. */
const withTime: readonly ViewName[] = ['space', 'routes', 'consistency', 'events'];

export function App() {
  const read = usePlace();
  const store = useStore();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const meta = store.map('meta').get('');
  // `cadastre up` begins with its story; a cluster has none.
  const place = read.isStart && meta?.tryIt ? { ...read, view: 'incident' as const } : read;
  const shown = views.filter((view) => (view !== 'try' && view !== 'incident') || meta?.tryIt);
  useKeys(
    shown,
    () => setHelpOpen((open) => !open),
    () => setFinding(true),
  );
  useEffect(() => {
    const what = place.subject?.name ?? viewTitles[place.view];
    document.title = `${what} · ${meta?.title ?? 'Cadastre'}`;
  }, [place.view, place.subject?.name, meta?.title]);
  const View = {
    incident: StoryView,
    space: AddressSpace,
    nodes: Nodes,
    routes: Routes,
    map: MapView,
    consistency: Consistency,
    events: Events,
    try: TryItView,
  }[place.view];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: links keep their own keys; this only keeps plain clicks in the page
    <div class={`app app-${store.connection}`} onClick={followLinks}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="word" href="/space" aria-label="Cadastre">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M3 7.5 10.5 3 21 6.5v11L13.5 21 3 17z" />
            <path d="M10.5 3v8.2L3 17M10.5 11.2 21 13M13.5 21v-9" />
          </svg>
          <span>Cadastre</span>
        </a>
        <nav aria-label="Views">
          {shown.map((view, index) => (
            <a
              key={view}
              href={address(view)}
              aria-current={
                place.view !== view || place.unknown !== ''
                  ? undefined
                  : place.subject
                    ? 'true'
                    : 'page'
              }
              aria-keyshortcuts={String(index + 1)}
            >
              {viewTitles[view]}
            </a>
          ))}
        </nav>
        <div class="tools">
          <button type="button" class="find-open" onClick={() => setFinding(true)}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <circle cx="6.8" cy="6.8" r="4.6" />
              <path d="m10.4 10.4 4 4" />
            </svg>
            <span class="find-word">Find anything</span>
            <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
          </button>
          <Live store={store} />
          <ThemeSwitch />
          <button
            type="button"
            class="quiet round"
            aria-label="Keys"
            onClick={() => setHelpOpen(true)}
          >
            ?
          </button>
        </div>
      </header>
      <Figures store={store} />
      {meta !== undefined &&
        withTime.includes(place.view) &&
        place.subject === undefined &&
        place.name === '' && <TimeBar place={place} />}
      <main id="main" tabIndex={-1}>
        {meta === undefined ? (
          <p class="empty" role="status">
            {store.trouble === '' ? 'asking the server…' : store.trouble}
          </p>
        ) : place.subject !== undefined ? (
          <SubjectPage place={place} subject={place.subject} />
        ) : place.unknown === '' ? (
          <View place={place} />
        ) : (
          <section class="view">
            <h1>No such view</h1>
            <p class="empty">
              There is no view called {place.unknown}.{' '}
              <a href={address('space')}>To the address space</a>
            </p>
          </section>
        )}
      </main>
      {isFinding && <FindBox onClose={() => setFinding(false)} />}
      {isHelpOpen && <Keys views={shown.length} onClose={() => setHelpOpen(false)} />}
    </div>
  );
}

function Live({ store }: { store: RowStore }) {
  const words = { live: 'live', connecting: 'connecting', away: 'reconnecting' };
  const isOld = store.connection === 'away' && store.leftMs > 0;
  const left = new Date(store.leftMs).toLocaleTimeString('en-GB');
  const title = isOld
    ? `The server does not answer; this is how it was at ${left}.`
    : store.trouble;
  return (
    <span class={`live live-${store.connection}`} role="status" title={title}>
      {isOld ? `as of ${left}` : words[store.connection]}
    </span>
  );
}

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(readTheme);
  const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
  const change = () => {
    setTheme(next[theme]);
    applyTheme(next[theme]);
  };
  return (
    <button type="button" class="quiet theme" onClick={change} aria-label={`Colours: ${theme}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.2" />
        <path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" />
      </svg>
      {theme}
    </button>
  );
}

/** A strip of numbers that stays where it is. */
function Figures({ store }: { store: RowStore }) {
  const truth = useTruth();
  const nodes = store.all('node');
  const blocks = store.map('block');
  const sessions = nodes.flatMap((node) => node.sessions);
  const up = sessions.filter(({ state }) => state === 'Established').length;
  const pods = nodes.reduce((sum, n) => sum + (n.used ?? []).reduce((s, b) => s + b.pods, 0), 0);
  const disagreeing = truth.rows.filter(({ reasons }) => reasons.length > 0).length;
  const findings = store.all('finding');
  const critical = findings.filter(({ severity }) => severity === 'critical').length;
  return (
    <dl class="figures" aria-label="At a glance">
      <Figure name="pools" value={spacedCount(store.map('pool').size)} href="/space" />
      <Figure name="blocks" value={spacedCount(blocks.size)} href="/space" />
      <Figure name="nodes" value={spacedCount(nodes.length)} href="/nodes" />
      <Figure name="pod addresses" value={spacedCount(pods)} href="/nodes" />
      <Figure
        name="sessions up"
        value={`${up}/${sessions.length}`}
        href="/routes"
        tone={up < sessions.length ? 'warn' : ''}
      />
      <Figure
        name="nodes that differ"
        value={spacedCount(disagreeing)}
        href="/consistency"
        tone={disagreeing > 0 ? 'warn' : ''}
      />
      <Figure
        name="findings"
        value={spacedCount(findings.length)}
        href="/consistency"
        tone={critical > 0 ? 'bad' : findings.length > 0 ? 'warn' : ''}
      />
    </dl>
  );
}

function Figure(props: { name: string; value: string; href: string; tone?: string }) {
  // Before anything has arrived, a zero would be a claim.
  const isKnown = store.map('meta').size > 0;
  return (
    <div class={`figure ${props.tone ?? ''}`}>
      <dt>{props.name}</dt>
      <dd>
        <a href={props.href}>{isKnown ? props.value : '–'}</a>
      </dd>
    </div>
  );
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

function useKeys(shown: readonly ViewName[], toggleHelp: () => void, openFinder: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openFinder();
      }
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      const target = event.target as HTMLElement;
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key === 'Escape' && isTyping) target.blur();
      if (isTyping) return;
      const view = shown[Number(event.key) - 1];
      if (view !== undefined) go(address(view));
      else if (event.key === '?') toggleHelp();
      else if (event.key === '/') {
        event.preventDefault();
        openFinder();
      } else if (event.key === 'f') {
        const filter = document.querySelector<HTMLElement>('main input[type=search]');
        if (filter === null) return;
        event.preventDefault();
        filter.focus();
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [shown.join(), toggleHelp]);
}

const keys: Array<[string, string]> = [
  ['/  or  ⌘K, Ctrl-K', 'find an address, pod, node, router …'],
  ['f', 'to the filter of the view'],
  ['arrows', 'on the map: from block to block'],
  ['+  −  0', 'on the map: closer, further, all of it'],
  ['Enter', 'on the map: to the owner'],
  ['?', 'this list'],
];

function Keys({ views, onClose }: { views: number; onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} class="keys" onClose={onClose} aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {[[`1 – ${views}`, 'the views'] as const, ...keys].map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => box.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
