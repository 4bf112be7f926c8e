/** Faults and changes on a switch: only in `cadastre up`. */
import { useState } from 'preact/hooks';
import { EntryList } from './entries.tsx';
import { address, type PageLocation } from './location.ts';
import { Empty, Mark, SameCommand, useNow } from './parts.tsx';
import { useStore } from './store.ts';
import { useTruth } from './use-truth.ts';
import { useTryIt } from './use-try-it.ts';

export function TryItView(_: { place: PageLocation }) {
  const store = useStore();
  const now = useNow();
  const { said, busy, isAllowed, act } = useTryIt();
  const meta = store.map('meta').get('');
  const nodes = store
    .all('node')
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const [chosen, setChosen] = useState('');
  const node = nodes.find(({ name }) => name === chosen) ?? nodes.at(-1);
  if (!meta?.tryIt) {
    return (
      <section class="view">
        <h1>Try it</h1>
        <Empty>This console only looks. Start cadastre up to play with a site of your own.</Empty>
      </section>
    );
  }
  const { routersDown, secondAllocator } = meta.tryIt;
  const button = (action: string, label: string, body: Record<string, unknown>) => (
    <button
      type="button"
      disabled={busy !== '' || !isAllowed || store.connection !== 'live'}
      aria-busy={busy === action}
      onClick={() => void act(action, body)}
    >
      {label}
    </button>
  );
  return (
    <section class="view">
      <div class="view-head">
        <h1>Try it</h1>
        <p class="verdict" role="status">
          {said || 'This site exists only on your machine. Break it.'}
        </p>
      </div>
      <div class="columns">
        {!isAllowed && <WithoutToken />}
        <div class="card try">
          <h2>A second allocator</h2>
          <p>
            Somebody switches on another allocator over the same pools. It writes its own idea of
            each node's block into <code>Node.spec.podCIDRs</code>. Elsewhere a speaker announced
            that field, and a year later draining one node took another one's pods off the network.
          </p>
          {secondAllocator
            ? button('second-allocator', 'Switch it off again', { on: false })
            : button('second-allocator', 'Switch it on', { on: true })}
          {secondAllocator && <Mark tone="warn">is writing</Mark>}
          <Story isOn={secondAllocator} />
        </div>
        <div class="card try">
          <h2>Nodes</h2>
          <p>A new node joins the site, gets its block, and advertises it to its routers.</p>
          {button('add-node', 'Add a node', {})}
          {node && (
            <label class="filter">
              <span>Node</span>
              <select
                aria-label="Node"
                value={node?.name ?? ''}
                onChange={(event) => setChosen(event.currentTarget.value)}
              >
                {nodes.map(({ name, isLeaving }) => (
                  <option key={name} value={name}>
                    {isLeaving ? `${name} (draining)` : name}
                  </option>
                ))}
              </select>
            </label>
          )}
          <div class="buttons">
            {node &&
              (node.isLeaving
                ? button('undrain-node', `Bring ${node.name} back`, { node: node.name })
                : button('drain-node', `Drain ${node.name}`, { node: node.name }))}
            {node && button('remove-node', `Take ${node.name} out`, { node: node.name })}
          </div>
          {node && (
            <p class="small">
              <a href={address('consistency', '', { drain: node.name })}>What would happen?</a>
            </p>
          )}
        </div>
        <div class="card try">
          <h2>Routers</h2>
          <p>Sessions end, routes go; the nodes find the router again when it is back.</p>
          {store
            .all('router')
            .sort((a, b) => a.name.localeCompare(b.name))
            .map(({ name, held }) => (
              <div key={name} class="router-row">
                <b>{name}</b>
                {routersDown.includes(name) ? (
                  <Mark tone="bad">down</Mark>
                ) : (
                  <Mark tone="good">{`${held.length} routes`}</Mark>
                )}
                {routersDown.includes(name)
                  ? button('revive-router', `Revive ${name}`, { router: name })
                  : button('kill-router', `Kill ${name}`, { router: name })}
              </div>
            ))}
        </div>
        <div class="card wide">
          <h2>What happens</h2>
          <EntryList entries={store.all('entry')} now={now} limit={14} />
        </div>
      </div>
      <SameCommand command="kubectl get ippools,nodeblocks,nodes" />
    </section>
  );
}

export function WithoutToken() {
  return (
    <div class="card wide" role="note" data-testid="without-token">
      <h2>This page may only look</h2>
      <p>
        To change the site, open the address that <code>npm start</code> or <code>cadastre up</code>{' '}
        printed after <code>console</code>, in the terminal where it runs. It ends with{' '}
        <code>#token=…</code>, and is a new one after every start: other users of this machine can
        open this page, and should not break your site.
      </p>
      <p class="small">
        Is it lost? Stop <code>cadastre up</code> with Ctrl-C and start it again: everything is
        kept, and a new address is printed.
      </p>
    </div>
  );
}

/** The incident, step by step: what went wrong elsewhere stays right here. */
function Story({ isOn }: { isOn: boolean }) {
  const store = useStore();
  const truth = useTruth();
  const wrong = truth.rows.filter(({ cells }) =>
    cells.some(({ column, state }) => column === 'Node.spec' && state === 'differs'),
  ).length;
  const routers = store.all('router').filter(({ isUp }) => isUp);
  const misled = truth.rows.filter(({ cells }) =>
    cells.some(
      ({ column, state }) =>
        (column === 'announced' || column.startsWith('router ')) && state === 'differs',
    ),
  ).length;
  const steps: Array<[boolean, string]> = [
    [isOn, 'The second allocator is on.'],
    [wrong > 0, `${wrong} of ${truth.rows.length} nodes carry a wrong spec.podCIDRs.`],
    [
      wrong > 0 && misled === 0 && routers.length > 0,
      misled === 0
        ? 'No route followed it: agents announce what the register gives them, and nothing else.'
        : `${misled} nodes announce what is not theirs.`,
    ],
  ];
  if (!isOn && wrong === 0) return null;
  return (
    <>
      <ol class="story" data-testid="story">
        {steps.map(([isDone, text]) => (
          <li key={text} class={isDone ? 'done' : ''}>
            {text}
          </li>
        ))}
      </ol>
      <p class="small">
        See it in <a href={address('consistency')}>Consistency</a>, then drain a node: nobody else
        loses a route.
      </p>
    </>
  );
}
