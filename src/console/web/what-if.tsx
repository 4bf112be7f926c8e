/** Pick a node, see before and after, and who loses. */
import { useEffect, useState } from 'preact/hooks';
import type { WhatIfAnswer } from '../../plan/doctor/what-if-answer.ts';
import { setQuery } from './location.ts';
import { Empty, Mark, NodeLink, TableHead } from './parts.tsx';
import { useStore } from './store.ts';

export function WhatIfPanel({ drained, lost }: { drained: string; lost: string }) {
  const store = useStore();
  const byName = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
  const nodes = [...store.map('node').keys()].sort(byName);
  const routers = [...store.map('router').keys()].sort(byName);
  const question =
    drained !== ''
      ? `drain=${encodeURIComponent(drained)}`
      : lost !== ''
        ? `lose-router=${encodeURIComponent(lost)}`
        : '';
  const reply = useReply(question, store.version('node', 'block', 'router'));
  const choose = (value: string) => {
    const [kind = '', name = ''] = value.split(' ');
    setQuery({ drain: kind === 'drain' ? name : '', lose: kind === 'lose' ? name : '' });
  };
  const chosen = drained !== '' ? `drain ${drained}` : lost !== '' ? `lose ${lost}` : '';
  return (
    <>
      <label class="filter">
        <span>What if</span>
        <select
          aria-label="What if"
          value={chosen}
          disabled={store.connection !== 'live'}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          <option value="">choose</option>
          <optgroup label="drain a node">
            {nodes.map((name) => (
              <option key={name} value={`drain ${name}`}>
                {`${name} is drained`}
              </option>
            ))}
          </optgroup>
          {routers.length > 0 && (
            <optgroup label="lose a router">
              {routers.map((name) => (
                <option key={name} value={`lose ${name}`}>
                  {`${name} is lost`}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      </label>
      <div class="whatif" aria-live="polite">
        {question === '' ? (
          <p class="muted">Nothing is done: the answer is worked out from what was seen.</p>
        ) : reply === undefined ? (
          <p class="muted">working it out…</p>
        ) : (
          <Answer reply={reply} />
        )}
      </div>
    </>
  );
}

function Answer({ reply }: { reply: WhatIfAnswer }) {
  if (reply.kind === 'unknown') {
    return (
      <p>
        <Mark tone="off">no answer</Mark> {reply.why}
      </p>
    );
  }
  const { safe, loses, moves, refused } = reply.whatIf;
  return (
    <>
      <p class="whatif-verdict">
        {safe ? (
          <>
            <Mark tone="good">safe</Mark> Nobody else loses a route.
          </>
        ) : (
          <>
            <Mark tone="bad">not safe</Mark>{' '}
            {loses.length > 0 &&
              `${nodesOf(loses.map(({ node }) => node))} would lose the network.`}
          </>
        )}
      </p>
      {loses.length > 0 && (
        <ul class="loses">
          {loses.map(({ node, prefix, why, alternatives }) => (
            <li key={`${node} ${prefix}`}>
              <NodeLink name={node} /> loses <span class="cidr">{prefix}</span>: {why}
              {alternatives.length > 0 && (
                <span class="muted"> · left: {alternatives.join('; ')}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {refused.map(({ node, prefix, detail }) => (
        <p key={`${node} ${prefix} ${detail}`}>
          <Mark tone="warn">refused</Mark> {detail}
        </p>
      ))}
      {moves.length > 0 ? (
        <table>
          <TableHead columns={['route', 'before', 'after']} />
          <tbody>
            {moves.map(({ node, prefix, from, to, why }) => (
              <tr key={`${node} ${prefix}`}>
                <th scope="row">
                  <span class="cidr">{prefix}</span> <span class="muted">{node}</span>
                </th>
                <td>{from}</td>
                <td>
                  {to} <span class="muted">· {why}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        loses.length === 0 && <Empty>Nothing changes.</Empty>
      )}
    </>
  );
}

function nodesOf(names: string[]): string {
  const many = new Set(names).size;
  return many === 1 ? (names[0] as string) : `${many} nodes`;
}

function useReply(question: string, version: string): WhatIfAnswer | undefined {
  const [held, setHeld] = useState<{ question: string; reply: WhatIfAnswer }>();
  useEffect(() => {
    if (question === '') return;
    let isCurrent = true;
    const ask = async () => {
      try {
        const answer = await fetch(`/api/whatif?${question}`);
        const reply = (await answer.json()) as WhatIfAnswer;
        if (isCurrent) setHeld({ question, reply });
      } catch {
        // Away for a moment; the next change asks again.
      }
    };
    // At once for a new question; news of the same cluster may wait a moment.
    const timer = setTimeout(() => void ask(), held?.question === question ? 1_000 : 0);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [question, version]);
  return held?.question === question ? held.reply : undefined;
}
