/**
 * The incident at two sites, side by side: what happened, and what happens with Cadastre.
 * Everything that is shown was asked of the routers and kernels of the two sites.
 */
import { useEffect } from 'preact/hooks';
import type { StoryPingRow, StoryRow, StorySiteRow } from '../story-row.ts';
import { address, type PageLocation } from './location.ts';
import { Empty, Mark } from './parts.tsx';
import { useStore } from './store.ts';
import { podState, StoryDrawing } from './story-drawing.tsx';
import { WithoutToken } from './try.tsx';
import { type TryItActions, useTryIt } from './use-try-it.ts';

export function StoryView(_: { place: PageLocation }) {
  const store = useStore();
  const tryIt = useTryIt();
  const story = store.map('story').get('');
  const state = story?.state;
  // Nothing of it runs until somebody looks.
  useEffect(() => {
    if (state === 'asleep') void fetch('/api/story');
  }, [state]);
  if (story === undefined) {
    return (
      <section class="view">
        <h1>The incident</h1>
        <Empty>This console looks at a cluster. cadastre up tells the incident.</Empty>
      </section>
    );
  }
  const step = story.steps[story.at];
  return (
    <section class="view story-view" data-step={story.at} data-state={story.state}>
      <div class="story-head">
        <div class="story-words">
          <h1>The incident</h1>
          <p class="story-lead">
            The fault that started Cadastre, on two sites that run on this machine: the same four
            nodes and two routers, left as it was, right with Cadastre.
          </p>
        </div>
        <Controls story={story} tryIt={tryIt} />
      </div>
      {!tryIt.isAllowed && <WithoutToken />}
      <Steps story={story} />
      <p class="story-title" role="status" aria-live="polite">
        {step?.title}
        {story.state === 'starting' && <span class="muted"> Both sites are being started…</span>}
      </p>
      {story.trouble !== '' && <p class="story-trouble">{story.trouble}</p>}
      <div class="story-sites">
        {story.sites.map((site, index) => (
          <Site key={site.id} site={site} caption={step?.captions[index] ?? ''} story={story} />
        ))}
      </div>
      <p class="story-way-on">
        This console also shows a site of your own, which goes on beside the story:{' '}
        <a href={address('map')}>its routes as a map</a>,{' '}
        <a href={address('consistency')}>whether all sources agree</a>, or{' '}
        <a href={address('try')}>break it yourself</a>.
      </p>
    </section>
  );
}

function Controls({ story, tryIt }: { story: StoryRow; tryIt: TryItActions }) {
  const { isPlaying, at, steps, state } = story;
  const isOver = at === steps.length - 1;
  const isStarting = state === 'starting' || state === 'asleep';
  const isOff = !tryIt.isAllowed || tryIt.busy !== '';
  const toggle = () => void tryIt.act(isPlaying ? 'story-pause' : 'story-play');
  const next = () => void tryIt.act('story-step');
  const reset = () => void tryIt.act('story-reset');
  const canStep = !isOff && !isOver && state === 'ready';
  const canToggle = !isOff && (isPlaying || !isStarting);
  const canReset = !isOff && !isStarting;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test((event.target as HTMLElement).tagName)) return;
      if (event.key === 'p' && canToggle) toggle();
      else if (event.key === 'n' && canStep) next();
      else if (event.key === 'r' && canReset) reset();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
  return (
    <div class="story-controls">
      <button
        type="button"
        class="story-play"
        disabled={!canToggle}
        aria-keyshortcuts="p"
        onClick={toggle}
      >
        <Icon path={isPlaying ? 'M4 3h3v10H4zM9 3h3v10H9z' : 'M4 2.5v11l9-5.5z'} />
        {isPlaying ? 'Pause' : isOver ? 'Play again' : 'Play'}
        <kbd>p</kbd>
      </button>
      <button type="button" disabled={!canStep} aria-keyshortcuts="n" onClick={next}>
        <Icon path="M3 2.5v11L10 8zM11 3h2v10h-2z" />
        Step
        <kbd>n</kbd>
      </button>
      <button type="button" disabled={!canReset} aria-keyshortcuts="r" onClick={reset}>
        <Icon path="M8 3a5 5 0 1 1-4.6 3l1.5.7A3.4 3.4 0 1 0 8 4.6V7L4.6 3.8 8 .6z" />
        Reset
        <kbd>r</kbd>
      </button>
    </div>
  );
}

function Icon({ path }: { path: string }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

function Steps({ story: { steps, at, state } }: { story: StoryRow }) {
  return (
    <ol class="story-steps">
      {steps.map(({ name }, index) => {
        const when = index < at ? 'past' : index === at ? 'now' : 'to-come';
        const isBusy = index === at && (state === 'acting' || state === 'starting');
        return (
          <li
            key={name}
            class={`step-${when}${isBusy ? ' step-busy' : ''}`}
            aria-current={index === at ? 'step' : undefined}
          >
            <span class="step-number">{index + 1}</span>
            {name}
          </li>
        );
      })}
    </ol>
  );
}

function Site(props: { site: StorySiteRow; caption: string; story: StoryRow }) {
  const { site, caption, story } = props;
  const pods = podsOf(site);
  const lost = pods.filter(({ state }) => state === 'lost');
  const detours = pods.filter(({ state }) => state === 'detour').length;
  const verdict =
    pods.length === 0
      ? 'no pod yet'
      : lost.length > 0
        ? `${lost.map(({ node }) => node).join(', ')} cut off`
        : detours > 0
          ? `${pods.length} of ${pods.length} pods answer, ${detours} by a detour`
          : `${pods.length} of ${pods.length} pods answer`;
  const tone = pods.length === 0 ? 'off' : lost.length > 0 ? 'bad' : detours > 0 ? 'warn' : 'good';
  return (
    <article class={`card story-site story-${site.id}`} data-site={site.id} data-tone={tone}>
      <header>
        <h2>{site.title}</h2>
        <Mark tone={tone}>{verdict}</Mark>
      </header>
      <p class="story-caption">{story.at === 0 ? site.about : caption}</p>
      <StoryDrawing site={site} label={`${site.title}: ${verdict}`} />
      <Tables site={site} />
      <Pods pods={pods} />
      <Comparison site={site} at={story.at} />
      <Expected site={site} />
    </article>
  );
}

interface PodSummary {
  node: string;
  pod: string;
  address: string;
  state: ReturnType<typeof podState>;
  hops: string[];
  why: string;
  sent: number;
  lost: number;
}

function podsOf({ nodes, pings }: StorySiteRow): PodSummary[] {
  return nodes.flatMap(({ name: node }): PodSummary[] => {
    const own = pings.filter((ping) => ping.node === node);
    const [first] = own;
    if (first === undefined) return [];
    const state = podState(own);
    const told = own.find(({ way }) => way === state) ?? first;
    const sum = (of: (ping: StoryPingRow) => number) => own.reduce((all, one) => all + of(one), 0);
    return [
      {
        ...{ node, pod: first.pod, address: first.address, state },
        ...{ hops: told.hops, why: told.why },
        ...{ sent: sum(({ sent }) => sent), lost: sum(({ lost }) => lost) },
      },
    ];
  });
}

/** What each router does with each block. */
function Tables({ site: { nodes, routers } }: { site: StorySiteRow }) {
  const blocks = nodes.map(({ block, name }) => ({ block, owner: name })).sort(byBlock);
  return (
    <table class="story-table">
      <thead>
        <tr>
          <th scope="col">Block</th>
          <th scope="col">Pods of</th>
          {routers.map(({ name }) => (
            <th scope="col" key={name}>
              {name} leads to
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {blocks.map(({ block, owner }) => {
          const state = nodes.find(({ name }) => name === owner)?.state;
          const isAway = state === 'drained' || state === 'gone';
          return (
            <tr key={block}>
              <th scope="row" class="mono">
                {block}
              </th>
              <td>{isAway ? <s>{owner}</s> : owner}</td>
              {routers.map(({ name: router, routes }) => {
                const [route] = routes.filter(({ prefix }) => prefix === block);
                const tone =
                  route === undefined
                    ? isAway || state === 'unknown'
                      ? 'off'
                      : 'bad'
                    : route.node !== owner
                      ? 'wrong'
                      : 'good';
                return (
                  <td
                    key={router}
                    class={`route-${tone}`}
                    data-route={`${router} ${block} ${tone}`}
                  >
                    {route === undefined ? (state === 'unknown' ? '–' : 'no route') : route.node}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const byBlock = (a: { block: string }, b: { block: string }) => (a.block < b.block ? -1 : 1);

/** The drawing in words. */
function Pods({ pods }: { pods: readonly PodSummary[] }) {
  return (
    <ul class="story-pods">
      {pods.map(({ node, pod, state, hops, why, sent, lost }) => (
        <li key={pod} class={`pod-${state}`} data-pings={node}>
          <b>{node}</b>{' '}
          <span>
            {state === 'lost' ? `no answer: ${why}` : `outside → ${hops.join(' → ')} → pod`}
          </span>
          <span class="story-count">
            {lost} of {sent} lost
          </span>
        </li>
      ))}
    </ul>
  );
}

/** What the comparison says, and the question that nobody asked then. */
function Comparison({ site, at }: { site: StorySiteRow; at: number }) {
  const { findings, wouldLose } = site;
  const isBeforeDrain = at < 3;
  return (
    <div class="story-says">
      <p>
        <code>cadastre doctor</code>{' '}
        {findings.length === 0 ? (
          <Mark tone="good">everything agrees</Mark>
        ) : (
          findings.map(({ reason, severity, count }) => (
            <Mark key={reason} tone={severity === 'critical' ? 'bad' : 'warn'}>
              {count > 1 ? `${reason} × ${count}` : reason}
            </Mark>
          ))
        )}
      </p>
      {isBeforeDrain && wouldLose !== null && (
        <p data-would-lose={wouldLose.join()}>
          <code>cadastre whatif drain node1</code>{' '}
          {wouldLose.length === 0 ? (
            <Mark tone="good">nobody else loses a route</Mark>
          ) : (
            <Mark tone="bad">{`${wouldLose.join(', ')} would be cut off`}</Mark>
          )}
        </p>
      )}
    </div>
  );
}

function Expected({ site: { expected } }: { site: StorySiteRow }) {
  if (expected.length === 0) return null;
  const isAll = expected.every(({ isSo }) => isSo);
  return (
    <details class="story-expected">
      <summary>
        {isAll
          ? `As the lab's replay of the incident: ${expected.length} of ${expected.length}`
          : `${expected.filter(({ isSo }) => isSo).length} of ${expected.length} as expected so far`}
      </summary>
      <ul>
        {expected.map(({ what, isSo, why }) => (
          <li key={what} class={isSo ? 'is-so' : 'is-not'}>
            {what}
            {why !== '' && `: ${why}`}
          </li>
        ))}
      </ul>
    </details>
  );
}
