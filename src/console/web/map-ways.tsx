/** Which way a packet takes to an address: asked of the server, told hop by hop. */
import { useEffect, useState } from 'preact/hooks';
import type { RouterWay, WaysAnswer } from '../../plan/ways/survey-ways.ts';
import { setQuery } from './location.ts';
import { Mark, NodeLink } from './parts.tsx';

export type AskedWays =
  | { kind: 'none' }
  | { kind: 'refused'; why: string }
  | { kind: 'answer'; answer: WaysAnswer };

const askEveryMs = 3_000;

/** Asked again from time to time, and whenever a finding changes. */
export function useWays(to: string, version: string): AskedWays {
  const [asked, setAsked] = useState<AskedWays>({ kind: 'none' });
  useEffect(() => {
    if (to === '') {
      setAsked({ kind: 'none' });
      return;
    }
    let isOld = false;
    const ask = async () => {
      try {
        const reply = await fetch(`/api/ways?to=${encodeURIComponent(to)}`);
        const body = (await reply.json()) as WaysAnswer & { error?: string };
        if (isOld) return;
        // What is no address now will be none in three seconds.
        if (!reply.ok) clearInterval(timer);
        setAsked(
          reply.ok
            ? { kind: 'answer', answer: body }
            : { kind: 'refused', why: body.error ?? String(reply.status) },
        );
      } catch {
        // The server is away, and the page says so; the last answer stays.
      }
    };
    const timer = setInterval(() => void ask(), askEveryMs);
    void ask();
    return () => {
      isOld = true;
      clearInterval(timer);
    };
  }, [to, version]);
  return asked;
}

export type WayTone = 'good' | 'bad' | 'off';

export function toneOf({ end, hops }: RouterWay): WayTone {
  if (end === 'not-known') return 'off';
  const entered = hops.filter(({ kind }) => kind === 'node').length;
  return end === 'delivered' && entered === 1 ? 'good' : 'bad';
}

export function MapWays({ to, asked }: { to: string; asked: AskedWays }) {
  return (
    <div class="card map-ways">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const input = event.currentTarget.elements.namedItem('to') as HTMLInputElement;
          setQuery({ to: input.value.trim() });
        }}
      >
        <label for="map-to">Which way does a packet take to</label>
        <input
          key={to}
          id="map-to"
          name="to"
          type="search"
          class="mono"
          defaultValue={to}
          placeholder="an address of a pod"
          autocomplete="off"
          spellcheck={false}
        />
        <button type="submit">Show the way</button>
        {to !== '' && (
          <button type="button" class="quiet" onClick={() => setQuery({ to: '' })}>
            Clear
          </button>
        )}
      </form>
      {asked.kind === 'refused' && <p class="map-refused">{asked.why}</p>}
      {asked.kind === 'answer' && <Answer answer={asked.answer} />}
    </div>
  );
}

function Answer({ answer: { owner, block, ways } }: { answer: WaysAnswer }) {
  return (
    <div data-testid="ways" role="status">
      <p class="small">
        {owner === '' ? (
          'No node has a block that holds it.'
        ) : (
          <>
            It is in <span class="cidr">{block}</span> of <NodeLink name={owner} />.
          </>
        )}
        {ways.length === 0 && ' No router was seen, and no node announces anything.'}
      </p>
      <ol class="map-way-list">
        {ways.map((way) => (
          <Way key={way.router} way={way} owner={owner} />
        ))}
      </ol>
    </div>
  );
}

function Way({ way, owner }: { way: RouterWay; owner: string }) {
  const tone = toneOf(way);
  const isDetour = way.end === 'delivered' && tone === 'bad';
  const words = {
    delivered: isDetour ? 'arrives by a detour' : 'arrives',
    'no-route': 'lost',
    dropped: 'dropped',
    nowhere: 'lost',
    loop: 'goes round',
    'not-known': 'not known from here on',
  };
  return (
    <li class={`way-${tone}`} data-way={`${way.router} ${way.end}`}>
      <Mark tone={tone}>{words[way.end]}</Mark>
      <span class="map-hops">
        <span class="hop hop-outside">outside</span>
        {way.hops.map(({ kind, name, prefix, nextHop }) => (
          <span
            key={name}
            class={`hop hop-${kind} ${kind === 'node' && name !== owner ? 'hop-wrong' : ''}`}
          >
            <b>{name}</b>
            <span class="mono small">
              {prefix === '' ? 'no route' : nextHop === '' ? prefix : `${prefix} → ${nextHop}`}
            </span>
          </span>
        ))}
        {way.end === 'delivered' && <span class="hop hop-pod">pod</span>}
      </span>
      {way.why !== '' && <p class="small map-why">{way.why}</p>}
    </li>
  );
}
