/** The page of one thing: whose it is, where it lies, its pods, routes and history. */
import { useEffect, useState } from 'preact/hooks';
import type { AnswerList, Cell, Subject } from '../../plan/find/subject.ts';
import type { SubjectPage as Answer } from '../finder.ts';
import { kindWords } from './find-box.tsx';
import { address, type PageLocation, setQuery, subjectAddress } from './location.ts';
import { Empty, Filter, SameCommand, spacedCount, timeText } from './parts.tsx';
import { SortedTable } from './sorted-table.tsx';
import { store, useStore } from './store.ts';

export function SubjectPage({ place, subject }: { place: PageLocation; subject: Subject }) {
  const version = useStore().version('block', 'node', 'router', 'pool');
  const answer = useAnswer(subject, version);
  const { kind, name } = subject;
  const page = answer?.page;
  return (
    <section class="view">
      <p class="crumb">{kindWords[kind]}</p>
      <div class="view-head">
        <h1 class={kind === 'block' || kind === 'address' || kind === 'prefix' ? 'cidr' : ''}>
          {name}
        </h1>
        <Ways subject={subject} />
        {page !== undefined && page.lists.length > 0 && (
          <Filter
            label="Filter"
            value={place.query.get('filter') ?? ''}
            onInput={(filter) => setQuery({ filter })}
          />
        )}
      </div>
      {answer === undefined && <p class="muted">asking…</p>}
      {answer !== undefined && page === undefined && <Empty>{answer.trouble}</Empty>}
      {page !== undefined && <Known page={page} place={place} />}
      <SameCommand command={`cadastre explain ${explained(subject)}`} />
    </section>
  );
}

function Known({ page, place }: { page: Answer; place: PageLocation }) {
  const { summary, facts, lists, history } = page;
  return (
    <>
      <p class="summary">{summary}.</p>
      <div class="columns">
        <div class="card">
          <h2>About it</h2>
          <dl class="pairs">
            {facts.map(({ name, cells }) => (
              <>
                <dt>{name}</dt>
                <dd>
                  {cells.map((cell, at) => (
                    <>
                      {at > 0 && ', '}
                      <CellText cell={cell} />
                    </>
                  ))}
                </dd>
              </>
            ))}
          </dl>
        </div>
        {lists.map((list, at) => (
          <div key={list.title} class="card">
            <ListCard list={list} sortKey={`sort${at === 0 ? '' : at}`} place={place} />
          </div>
        ))}
        {page.cidrs.length > 0 && (
          <div class="card">
            <h2>History</h2>
            {history.length === 0 ? (
              <Empty>Nothing is written down of it.</Empty>
            ) : (
              <ol class="entries">
                {history.map(({ at, cidr, event, node, why, peers }) => (
                  <li key={`${cidr} ${at} ${event} ${node}`}>
                    <time dateTime={at}>{timeText(Date.parse(at))}</time>
                    <span class="reason">{event}</span>
                    <span class="entry-text">
                      <CellText cell={{ text: node, subject: { kind: 'node', name: node } }} />
                      {peers !== undefined && peers.length > 0 && ` to ${peers.join(', ')}`}
                      {why !== undefined && `: ${why}`}
                      {page.cidrs.length > 1 && <span class="muted"> {cidr}</span>}
                    </span>
                  </li>
                ))}
              </ol>
            )}
          </div>
        )}
      </div>
    </>
  );
}

export function ListCard(props: { list: AnswerList; sortKey: string; place: PageLocation }) {
  const { list, sortKey, place } = props;
  const isCut = list.rows.length < list.total;
  return (
    <>
      <h2>
        {list.title} <span class="muted">{spacedCount(list.total)}</span>
      </h2>
      <SortedTable
        label={list.title}
        rows={list.rows}
        columns={list.columns.map((name, at) => ({
          name,
          isHead: at === 0,
          value: (row: readonly Cell[]) => row[at]?.text ?? '',
          cell: (row: readonly Cell[]) => row[at] && <CellText cell={row[at]} />,
        }))}
        keyOf={(row) => row.map(({ text }) => text).join(' ')}
        sort={place.query.get(sortKey) ?? ''}
        sortKey={sortKey}
        find={place.query.get('filter') ?? ''}
        empty="None."
        isTall={false}
      />
      {isCut && (
        <p class="muted small">{`the first ${list.rows.length} of ${spacedCount(list.total)}`}</p>
      )}
    </>
  );
}

/** Text that leads to what it names. */
export function CellText({ cell: { text, subject } }: { cell: Cell }) {
  if (subject === undefined || text === '–') return <>{text}</>;
  const isNumber =
    subject.kind === 'block' || subject.kind === 'address' || subject.kind === 'prefix';
  return (
    <a class={isNumber ? 'cidr' : 'name'} href={subjectAddress(subject)}>
      {text}
    </a>
  );
}

/** Where else it is to be seen. */
function Ways({ subject: { kind, name } }: { subject: Subject }) {
  if (kind === 'block') {
    return (
      <a class="button" href={address('space', '', { block: name })}>
        On the map
      </a>
    );
  }
  if (kind === 'pool') {
    return (
      <a class="button" href={address('space', '', { pool: name })}>
        On the map
      </a>
    );
  }
  if (kind === 'router' && store.map('router').has(name)) {
    return (
      <a class="button" href={address('consistency', '', { lose: name })}>
        What if it is lost?
      </a>
    );
  }
  return null;
}

function explained({ kind, name }: Subject): string {
  const isByForm = kind === 'block' || kind === 'prefix' || kind === 'address';
  return isByForm ? name : `${kind}/${name}`;
}

export function useAnswer(
  { kind, name }: Subject,
  version: string,
): { page?: Answer; trouble: string } | undefined {
  const key = `${kind}/${encodeURIComponent(name)}`;
  const [answer, setAnswer] = useState<{ key: string; page?: Answer; trouble: string }>();
  useEffect(() => {
    let isCurrent = true;
    const ask = async () => {
      try {
        const reply = await fetch(`/api/subjects/${key}`);
        const body = (await reply.json()) as Answer & { error?: string };
        const none = `There is no ${kindWords[kind].toLowerCase()} called ${name} (any more).`;
        if (isCurrent)
          setAnswer(reply.ok ? { key, page: body, trouble: '' } : { key, trouble: none });
      } catch {
        // The page is grey meanwhile, and says why.
      }
    };
    void ask();
    return () => {
      isCurrent = false;
    };
  }, [key, version]);
  return answer?.key === key ? answer : undefined;
}
