/** Nodes: the list, and one of them in detail. */
import { useEffect, useState } from 'preact/hooks';
import type { NodeDetail } from '../node-detail.ts';
import type { NodeRow } from '../rows.ts';
import { EntryList } from './entries.tsx';
import { address, type PageLocation, setQuery } from './location.ts';
import {
  Age,
  addresses,
  BlockLink,
  Empty,
  Filter,
  Mark,
  NodeLink,
  percent,
  plainName,
  SameCommand,
  TableHead,
  type Tone,
  UnannouncedReasons,
  useNow,
} from './parts.tsx';
import { PodsOf } from './pods-of.tsx';
import { SortedTable } from './sorted-table.tsx';
import { useStore } from './store.ts';
import { blocksOf, useTruth } from './use-truth.ts';

export function Nodes({ place }: { place: PageLocation }) {
  return place.name === '' ? (
    <NodeList place={place} />
  ) : (
    <OneNode name={place.name} place={place} />
  );
}

function NodeList({ place }: { place: PageLocation }) {
  const store = useStore();
  const now = useNow();
  const wanted = place.query.get('filter') ?? '';
  const nodes = store
    .all('node')
    .filter((node) => matches(node, wanted.trim().toLowerCase()))
    .sort((a, b) => plainName.compare(a.name, b.name));
  return (
    <section class="view">
      <div class="view-head">
        <h1>Nodes</h1>
        <Filter label="Filter" value={wanted} onInput={(filter) => setQuery({ filter })} />
      </div>
      <SortedTable
        label="Nodes"
        class="node-list"
        rows={nodes}
        keyOf={({ name }) => name}
        sort={place.query.get('sort') ?? ''}
        empty={store.map('node').size === 0 ? 'There are no nodes yet.' : 'No node matches.'}
        columns={[
          {
            name: 'node',
            isHead: true,
            value: ({ name }) => name,
            cell: ({ name }) => <NodeLink name={name} />,
          },
          { name: 'rack', class: 'roomy', value: ({ rack }) => rack, cell: ({ rack }) => rack },
          {
            name: 'address',
            class: 'mono roomy',
            value: ({ addresses: own }) => own.join(', '),
            cell: ({ addresses: own }) => own.join(', '),
          },
          {
            name: 'blocks',
            value: (node) => blocksOf(node).join(' '),
            cell: (node) => blocksOf(node).map((cidr) => <BlockLink key={cidr} cidr={cidr} />),
          },
          {
            name: 'addresses in use',
            value: ({ used }) => (used ?? []).reduce((sum, { pods }) => sum + pods, 0),
            cell: (node) => <InUse node={node} />,
          },
          {
            name: 'sessions',
            class: 'roomy',
            value: ({ sessions }) => sessions.filter(({ state }) => state !== 'Established').length,
            cell: sessionWords,
          },
          {
            name: 'state',
            value: (node) => stateOf(node)[1],
            cell: (node) => <NodeStateMark node={node} />,
          },
          {
            name: 'age',
            class: 'right roomy',
            value: ({ createdMs }) => -createdMs,
            cell: ({ createdMs }) => <Age sinceMs={createdMs} now={now} />,
          },
        ]}
      />
      <SameCommand command="cadastre nodes" />
    </section>
  );
}

function matches(node: NodeRow, wanted: string): boolean {
  return [node.name, node.rack, ...node.addresses, ...blocksOf(node)]
    .join(' ')
    .toLowerCase()
    .includes(wanted);
}

export function stateOf(node: NodeRow): [Tone, string] {
  if (node.isLeaving) return ['warn', 'draining'];
  if (blocksOf(node).length === 0) return ['bad', node.blocksState?.reason ?? 'no block'];
  if (node.agent === null) return ['off', 'no report'];
  return node.agent.isReady ? ['good', 'serving'] : ['warn', node.agent.reason];
}

export function NodeStateMark({ node }: { node: NodeRow }) {
  const [tone, words] = stateOf(node);
  return <Mark tone={tone}>{words}</Mark>;
}

/** Of the family that is fuller: the other one says nothing about when a node is full. */
function InUse({ node }: { node: NodeRow }) {
  if (node.used === null) return <span class="muted">–</span>;
  const ofFamily = (isSix: boolean) => {
    const blocks = (node.used ?? []).filter(({ cidr }) => cidr.includes(':') === isSix);
    return {
      pods: blocks.reduce((sum, block) => sum + block.pods, 0),
      total: blocks.reduce((sum, block) => sum + Number(block.total), 0),
    };
  };
  const [four, six] = [ofFamily(false), ofFamily(true)];
  const share = ({ pods, total }: typeof four) => (total === 0 ? -1 : pods / total);
  const { pods, total } = share(six) > share(four) ? six : four;
  return (
    <span class="in-use">
      <meter
        min={0}
        max={Math.max(1, total)}
        value={pods}
        aria-label={`${node.name}: addresses in use`}
      />
      <span>{`${pods} of ${addresses(total)}`}</span>
    </span>
  );
}

function sessionWords({ sessions }: NodeRow): string {
  if (sessions.length === 0) return '–';
  const up = sessions.filter(({ state }) => state === 'Established').length;
  return `${up} of ${sessions.length} up`;
}

function OneNode({ name, place }: { name: string; place: PageLocation }) {
  const store = useStore();
  const now = useNow();
  const node = store.map('node').get(name);
  const detail = useDetail(
    node === undefined ? '' : name,
    JSON.stringify([node && blocksOf(node), node?.labels]),
  );
  const isDisputed = useTruth().rows.some((row) => row.node === name && row.reasons.length > 0);
  const entries = store.all('entry').filter((entry) => entry.node === name);
  if (node === undefined) {
    return (
      <section class="view">
        <h1>{name}</h1>
        <Empty>
          There is no node called {name} (any more). <a href={address('nodes')}>All nodes</a>
        </Empty>
        <EntryList entries={entries} now={now} />
        <SameCommand command={`cadastre explain ${name}`} />
      </section>
    );
  }
  return (
    <section class="view">
      <p class="crumb">
        <a href={address('nodes')}>Nodes</a>
      </p>
      <div class="view-head">
        <h1>{name}</h1>
        <NodeStateMark node={node} />
        {isDisputed && (
          <a href={address('consistency', '', { filter: name })}>
            <Mark tone="bad">records disagree</Mark>
          </a>
        )}
        <a class="button" href={address('consistency', '', { drain: name })}>
          What if it is drained?
        </a>
      </div>
      <div class="columns">
        <div class="card">
          <h2>Blocks</h2>
          {blocksOf(node).length === 0 && (
            <Empty>{node.blocksState?.message ?? 'It holds no block.'}</Empty>
          )}
          {blocksOf(node).map((cidr) => {
            const used = node.used?.find((one) => one.cidr === cidr);
            return (
              <div key={cidr} class="held">
                <BlockLink cidr={cidr} />
                <span>
                  {used
                    ? `${used.pods} of ${addresses(Number(used.total))} addresses in use (${percent(used.pods, Number(used.total))}), ${used.resting} in cool-down`
                    : 'not reported'}
                </span>
                <meter
                  min={0}
                  max={Math.max(1, Number(used?.total ?? 1))}
                  value={used?.pods ?? 0}
                  aria-label={`${cidr}: addresses in use`}
                />
                <UnannouncedReasons node={node} cidr={cidr} />
              </div>
            );
          })}
          <dl class="pairs">
            <dt>address</dt>
            <dd class="mono">{node.addresses.join(', ')}</dd>
            <dt>rack</dt>
            <dd>{node.rack || '–'}</dd>
            <dt>agent</dt>
            <dd>
              {node.agent ? `${node.agent.reason}: ${node.agent.message}` : 'has not reported'}
            </dd>
            <dt>kernel</dt>
            <dd>{node.kernel ? `${node.kernel.held} of ${node.kernel.wanted} routes` : '–'}</dd>
          </dl>
        </div>
        <div class="card">
          <h2>Why this pool</h2>
          {detail === undefined ? <p class="muted">asking…</p> : <Why detail={detail} />}
        </div>
        <div class="card">
          <h2>Sessions</h2>
          <table>
            <TableHead columns={['peer', 'state', ['for', 'right'], 'advertised']} />
            <tbody>
              {node.sessions.map((session) => (
                <tr key={session.peer}>
                  <th scope="row">
                    {session.peer} <span class="muted mono">{session.address}</span>
                  </th>
                  <td>
                    <Mark tone={session.state === 'Established' ? 'good' : 'bad'}>
                      {session.state}
                    </Mark>
                    {session.lastError !== '' && <p class="small muted">{session.lastError}</p>}
                  </td>
                  <td class="right">
                    <Age sinceMs={session.sinceMs} now={now} />
                  </td>
                  <td class="mono">
                    {session.announced.map(({ prefix }) => prefix).join(', ') || '–'}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {node.sessions.length === 0 && <Empty>No BGP peer selects this node.</Empty>}
        </div>
        <div class="card">
          <PodsOf node={name} version={String(node.used?.map(({ pods }) => pods))} place={place} />
        </div>
        <div class="card wide">
          <h2>History</h2>
          <EntryList entries={entries} now={now} limit={40} />
        </div>
      </div>
      <SameCommand command={`cadastre explain ${name}`} />
    </section>
  );
}

function Why({ detail }: { detail: NodeDetail }) {
  return (
    <>
      <p>
        {detail.pool === '' ? (
          'It holds no block of a pool.'
        ) : (
          <>
            <b>{detail.pool}</b>: {detail.why}
          </>
        )}
      </p>
      <ol class="candidates">
        {detail.candidates.slice(0, 6).map((one) => (
          <li key={one.pool} class={one.isSelecting ? '' : 'muted'}>
            <b>{one.pool}</b>{' '}
            {one.isSelecting
              ? `selects it, priority ${one.priority}, ${one.free} free`
              : `does not select it: it ${one.unmet.join(', ')}`}
            {one.obstacle !== '' && ` · ${one.obstacle}`}
          </li>
        ))}
      </ol>
    </>
  );
}

function useDetail(name: string, version: string): NodeDetail | undefined {
  const [detail, setDetail] = useState<NodeDetail>();
  useEffect(() => {
    if (name === '') return;
    let isCurrent = true;
    fetch(`/api/nodes/${encodeURIComponent(name)}`)
      .then((answer) => (answer.ok ? (answer.json() as Promise<NodeDetail>) : undefined))
      .then((found) => isCurrent && setDetail(found))
      .catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [name, version]);
  return detail?.node === name ? detail : undefined;
}
