/** One row a node, one column a source; what disagrees is joined by lines. */
import { useRef, useState } from 'preact/hooks';
import type { JudgementRow } from '../rows.ts';
import { FindingList } from './findings.tsx';
import { type PageLocation, setQuery } from './location.ts';
import { Empty, Filter, NodeLink, ribFlags, SameCommand, Scroll } from './parts.tsx';
import { useStore } from './store.ts';
import { TruthLines } from './truth-lines.tsx';
import { isRed, type ShownTruth, useTruth } from './use-truth.ts';
import { WhatIfPanel } from './what-if.tsx';

const words: Record<string, string> = {
  truth: 'the truth',
  agrees: 'agrees',
  differs: 'names what is not the node’s',
  missing: 'should be there and is not',
  conflict: 'another has it too',
  empty: 'says nothing',
  unseen: 'could not be seen',
};

/** Rows that are drawn before somebody asks for more. */
const mostRows = 60;

export function Consistency({ place }: { place: PageLocation }) {
  const store = useStore();
  const truth = useTruth();
  const frame = useRef<HTMLDivElement>(null);
  const [pages, setPages] = useState(1);
  const wanted = (place.query.get('filter') ?? '').trim().toLowerCase();
  const onlyDiffering = place.query.get('only') === 'differing';
  const rows = truth.rows.filter(
    ({ node, reasons }) =>
      node.toLowerCase().includes(wanted) && (!onlyDiffering || reasons.length > 0),
  );
  // What differs first; of many that agree the first ones do.
  const ordered =
    truth.rows.length > mostRows
      ? [...rows].sort((a, b) => Number(b.reasons.length > 0) - Number(a.reasons.length > 0))
      : rows;
  const shown = ordered.slice(0, mostRows * pages);
  const differing = truth.rows.filter(({ reasons }) => reasons.length > 0).length;
  const drained = place.query.get('drain') ?? '';
  const lost = place.query.get('lose') ?? '';
  return (
    <section class="view">
      <div class="view-head">
        <h1>Consistency</h1>
        <Filter
          label="Filter"
          value={place.query.get('filter') ?? ''}
          onInput={(filter) => setQuery({ filter })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyDiffering}
            onChange={(event) => setQuery({ only: event.currentTarget.checked ? 'differing' : '' })}
          />
          only what differs
        </label>
        <p class="verdict" role="status">
          {verdict(truth, differing, store.map('judgement').get(''))}
        </p>
      </div>
      <Scroll class="scroll truth-scroll" label="What each source says">
        <div class="truth-frame" ref={frame}>
          <table class="truth">
            <thead>
              <tr>
                <th scope="col">node</th>
                {truth.columns.map(({ id, label, title, isSeen, isUnasked }) => (
                  <th scope="col" key={id} title={title} class={isSeen ? '' : 'not-seen'}>
                    {label}
                    {!isSeen && <span class="small"> {isUnasked ? 'not asked' : 'not seen'}</span>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ node, cells }) => (
                <tr key={node}>
                  <th scope="row">
                    <NodeLink name={node} />
                  </th>
                  {cells.map(({ column, cidrs, state }) => (
                    <td
                      key={column}
                      class={`say say-${state}`}
                      data-node={node}
                      data-column={column}
                      title={words[state]}
                    >
                      {cidrs.length === 0 ? (
                        <span class="say-none">{state === 'unseen' ? '?' : '–'}</span>
                      ) : (
                        cidrs.map((cidr) => (
                          <span key={cidr} class="cidr">
                            {cidr}
                          </span>
                        ))
                      )}
                      {isRed(state) && <span class="unseen">{words[state]}</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          <TruthLines
            frame={frame}
            lines={truth.lines}
            version={JSON.stringify([shown.map((r) => r.cells), truth.lines])}
          />
        </div>
        {shown.length < rows.length && (
          <p class="more-rows">
            <button type="button" class="quiet" onClick={() => setPages(pages + 3)}>
              {`${shown.length} of ${rows.length} nodes are shown; show more`}
            </button>
          </p>
        )}
        {rows.length === 0 && (
          <Empty>{truth.rows.length === 0 ? 'There are no nodes yet.' : 'No node matches.'}</Empty>
        )}
      </Scroll>
      <div class="columns two">
        <div class="card">
          <h2>Findings</h2>
          <Scroll class="scroll findings-scroll" label="Findings">
            <FindingList findings={store.map('finding')} />
          </Scroll>
        </div>
        <div class="card">
          <h2>What if</h2>
          <WhatIfPanel drained={drained} lost={lost} />
        </div>
      </div>
      <SameCommand command={sameCommand(drained, lost)} />
    </section>
  );
}

function verdict(
  { rows, columns }: ShownTruth,
  differing: number,
  judgement: JudgementRow | undefined,
): string {
  if (judgement?.isSettled !== true) {
    return `Still looking${judgement?.why ? `: ${judgement.why}` : ''}.`;
  }
  if (rows.length === 0) return 'There are no nodes.';
  const labels = (of: typeof columns) => of.map(({ label }) => label).join(', ');
  const unseen = columns.filter(({ isSeen, isUnasked }) => !isSeen && isUnasked !== true);
  const unasked = columns.filter(({ isUnasked }) => isUnasked);
  const rest = [
    unseen.length === 0 ? '' : ` ${labels(unseen)} could not be seen.`,
    unasked.length === 0 ? '' : ` Not asked: ${labels(unasked)}.`,
  ].join('');
  if (differing > 0) return `${differing} of ${rows.length} nodes have records that differ.${rest}`;
  return `Everything that was seen says the same.${rest}`;
}

function sameCommand(drained: string, lost: string): string {
  const asked =
    drained !== ''
      ? `whatif drain ${drained}`
      : lost !== ''
        ? `whatif lose-router ${lost}`
        : 'doctor';
  return `cadastre ${asked}${ribFlags()}`;
}
