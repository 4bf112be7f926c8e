/** Pick a node, see before and after, and who loses. */
import { useEffect, useState } from 'preact/hooks';
import type { WhatIfAnswer } from '../what-if-answer.ts';
import { setQuery } from './location.ts';
import { Empty, Mark, NodeLink } from './parts.tsx';
import { useStore } from './store.ts';

export function WhatIf({ drained }: { drained: string }) {
  const store = useStore();
  const names = [...store.map('node').keys()].sort((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  const answer = useAnswer(drained, store.version('node', 'block', 'router'));
  return (
    <>
      <label class="filter">
        <span>Drain</span>
        <select
          value={drained}
          onChange={(event) => setQuery({ drain: event.currentTarget.value })}
        >
          <option value="">choose a node</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <div class="whatif" aria-live="polite">
        {drained === '' ? (
          <p class="muted">Nothing is done: the answer is worked out from what was seen.</p>
        ) : answer === undefined ? (
          <p class="muted">working it out…</p>
        ) : (
          <Answer answer={answer} />
        )}
      </div>
    </>
  );
}

function Answer({ answer }: { answer: WhatIfAnswer }) {
  if (answer.error !== undefined) return <Empty>{answer.error}</Empty>;
  return (
    <>
      <p class="whatif-verdict">
        {answer.safe ? (
          <>
            <Mark tone="good">safe</Mark> Nobody else loses a route.
          </>
        ) : (
          <>
            <Mark tone="bad">not safe</Mark> {answer.loses.length} would lose the network.
          </>
        )}
      </p>
      {answer.loses.length > 0 && (
        <ul class="loses">
          {answer.loses.map(({ node, prefix, why }) => (
            <li key={`${node} ${prefix}`}>
              <NodeLink name={node} /> <span class="cidr">{prefix}</span>{' '}
              <span class="muted">{why}</span>
            </li>
          ))}
        </ul>
      )}
      {answer.routes.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">router</th>
              <th scope="col">route</th>
              <th scope="col">before</th>
              <th scope="col">after</th>
            </tr>
          </thead>
          <tbody>
            {answer.routes.map(({ router, prefix, before, after }) => (
              <tr key={`${router} ${prefix} ${before}`}>
                <td>{router}</td>
                <td class="cidr">{prefix}</td>
                <td class="mono">{before || '–'}</td>
                <td class="mono">{after || <Mark tone="off">gone</Mark>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function useAnswer(drained: string, version: string): WhatIfAnswer | undefined {
  const [answer, setAnswer] = useState<{ drained: string; answer: WhatIfAnswer }>();
  useEffect(() => {
    if (drained === '') return;
    let isCurrent = true;
    const timer = setTimeout(
      () => {
        fetch(`/api/whatif?drain=${encodeURIComponent(drained)}`)
          .then((reply) => reply.json() as Promise<WhatIfAnswer>)
          .then((found) => isCurrent && setAnswer({ drained, answer: found }))
          .catch(() => undefined);
      },
      // At once for a new question; news of the same cluster may wait a moment.
      answer?.drained === drained ? 1_000 : 0,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [drained, version]);
  return answer?.drained === drained ? answer.answer : undefined;
}
