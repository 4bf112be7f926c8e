/** Small things that every view uses. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ageText } from '../../base/age-text.ts';
import type { NodeRow } from '../rows.ts';
import { address, subjectAddress } from './location.ts';
import { store } from './store.ts';

/** The command that shows the same, with a button that copies it. */
export function SameCommand({ command }: { command: string }) {
  const [said, setSaid] = useState('');
  const { commandFlags = '', program = 'cadastre' } = store.map('meta').get('') ?? {};
  const flags = commandFlags === '' ? '' : ` ${commandFlags}`;
  const text = command.startsWith('kubectl ')
    ? command.replace('kubectl', `kubectl${flags}`)
    : `${command.replace('cadastre', program)}${flags}`;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('copied');
    } catch {
      setSaid('select it by hand');
    }
    setTimeout(() => setSaid(''), 1_500);
  };
  return (
    <div class="same" data-testid="same-command">
      <span class="same-word">The same in a terminal</span>
      <code title={text}>{text}</code>
      <button type="button" class="quiet" onClick={copy}>
        {said === '' ? 'Copy' : said}
      </button>
      <span class="unseen" role="status">
        {said}
      </span>
    </div>
  );
}

/** Ages grow by themselves: once a second, all together. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function Age({ sinceMs, now }: { sinceMs: number; now: number }) {
  if (sinceMs === 0) return <span class="muted">–</span>;
  const iso = new Date(sinceMs).toISOString();
  return (
    <time class="age" dateTime={iso} title={iso}>
      {ageText(now - sinceMs)}
    </time>
  );
}

/** A moment that means the same tomorrow: the day, and the second. */
export function timeText(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Names as people count: node2 before node10. */
export const plainName = new Intl.Collator('en', { numeric: true });

export type Tone = 'good' | 'bad' | 'warn' | 'calm' | 'off';

export function Mark({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`mark mark-${tone}`}>{children}</span>;
}

export function NodeLink({ name }: { name: string }) {
  return (
    <a class="name" href={address('nodes', name)} title={name}>
      {name}
    </a>
  );
}

export function BlockLink({ cidr }: { cidr: string }) {
  return (
    <a class="cidr" href={subjectAddress({ kind: 'block', name: cidr })}>
      {cidr}
    </a>
  );
}

/** Why the node's agent does not advertise a block of its own: to one peer, or to any. */
export function UnannouncedReasons(props: { node: NodeRow; cidr: string; peer?: string }) {
  const { node, cidr, peer } = props;
  const stated = node.unannounced.filter(
    (one) => one.cidr === cidr && (one.peer === undefined || (peer ?? one.peer) === one.peer),
  );
  return (
    <>
      {stated.map((one) => (
        <p key={one.peer ?? ''} class="small unannounced">
          <Mark tone="warn">{one.reason}</Mark> {one.detail}
        </p>
      ))}
    </>
  );
}

export function Filter({
  label,
  value,
  onInput,
  id,
}: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  id?: string;
}) {
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type="search"
        id={id}
        value={value}
        placeholder="any"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** `--rib tor1=<(curl …)` for each router that this page sees and a terminal does not. */
export function ribFlags(): string {
  // Elsewhere a token is demanded, and it is not ours to print.
  if (!/^(localhost|127\.|\[::1\])/.test(location.hostname)) return '';
  return store
    .all('router')
    .filter(({ isUp }) => isUp)
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      const url = `${location.origin}/api/ribs/${encodeURIComponent(name)}`;
      return ` --rib ${name}=<(curl -s ${url})`;
    })
    .join('');
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const value = (100 * part) / whole;
  return value > 0 && value < 1 ? '< 1 %' : `${Math.round(value)} %`;
}

/** Of IPv6 nobody reads the digits. */
export function addresses(total: number): string {
  return total < 2 ** 32 ? spacedCount(total) : `2^${Math.round(Math.log2(total))}`;
}

export function spacedCount(value: number): string {
  return value.toLocaleString('en').replaceAll(',', ' ');
}

/** The head of a table: names of columns, each with its class if it has one. */
export function TableHead(props: { columns: ReadonlyArray<string | readonly [string, string]> }) {
  return (
    <thead>
      <tr>
        {props.columns.map((column) => {
          const [name, style] = typeof column === 'string' ? [column, ''] : column;
          return (
            <th scope="col" key={name} class={style}>
              {name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** What scrolls by itself must be reachable by keys. */
export function Scroll(props: { class: string; label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <section class={props.class} aria-label={props.label} tabIndex={0}>
      {props.children}
    </section>
  );
}
