/** One box for everything: an address, a prefix, a pod, a node, a router, a pool, a Service. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FoundSubject } from '../../plan/find/find-subjects.ts';
import { go, subjectAddress } from './location.ts';

/** Long enough that not every letter asks, short enough that nobody notices. */
const pauseMs = 90;
const list = 'found-subjects';
/** Apart, because the types of preact know a combobox only with a datalist. */
const combobox = (count: number, at: number): object => ({
  role: 'combobox',
  'aria-expanded': count > 0,
  'aria-controls': list,
  'aria-activedescendant': count === 0 ? undefined : `${list}-${at}`,
});

export function FindBox({ onClose }: { onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const { found, said } = useFound(text);
  useEffect(() => box.current?.showModal(), []);
  useEffect(() => setAt(0), [text]);
  const open = (one: FoundSubject | undefined) => {
    if (one === undefined) return;
    box.current?.close();
    go(subjectAddress(one.subject));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((at + step + found.length) % found.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(found[at]);
    }
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={box}
      class="find-box"
      onClose={onClose}
      aria-label="Find anything"
      onClick={(event) => event.target === box.current && box.current?.close()}
    >
      <input
        type="search"
        {...combobox(found.length, at)}
        aria-label="An address, prefix, pod, node, router, pool or Service"
        placeholder="10.5.113.7, a prefix, pod, node, router, pool or Service"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <div id={list} role="listbox" aria-label="Found">
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box above takes the keys
          <div
            key={`${one.subject.kind} ${one.subject.name}`}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(one)}
          >
            <span class="found-kind">{kindWords[one.subject.kind]}</span>
            <span class="found-name">{one.subject.name}</span>
            <span class="found-words">{one.words}</span>
          </div>
        ))}
      </div>
      <p class="found-said" role="status">
        {said}
      </p>
    </dialog>
  );
}

export const kindWords: Record<FoundSubject['subject']['kind'], string> = {
  node: 'Node',
  pool: 'Pool',
  block: 'Block',
  router: 'Router',
  service: 'Service',
  pod: 'Pod',
  address: 'Address',
  prefix: 'Prefix',
};

function useFound(text: string): { found: FoundSubject[]; said: string } {
  const [answer, setAnswer] = useState<{ text: string; found: FoundSubject[]; trouble: string }>();
  useEffect(() => {
    if (text.trim() === '') return;
    const asking = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const url = `/api/find?q=${encodeURIComponent(text)}`;
        const reply = await fetch(url, { signal: asking.signal });
        const { found = [], error = '' } = (await reply.json()) as {
          found?: FoundSubject[];
          error?: string;
        };
        setAnswer({ text, found, trouble: error });
      } catch {
        if (!asking.signal.aborted) {
          setAnswer({ text, found: [], trouble: 'The server does not answer.' });
        }
      }
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [text]);
  if (text.trim() === '')
    return { found: [], said: 'Whose is it, where does it lead, who had it?' };
  if (answer === undefined) return { found: [], said: '' };
  const isOld = answer.text !== text;
  const none = answer.found.length === 0 && !isOld ? `Nothing is called ${text.trim()}.` : '';
  return { found: answer.found, said: answer.trouble || none };
}
