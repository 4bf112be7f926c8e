/** Every session of a large site at once: a square each, by rack; what is not up stands out. */
import type { RouterView } from '../router-view.ts';
import type { NodeRow, SessionRow } from '../rows.ts';
import { setQuery } from './location.ts';
import { plainName } from './parts.tsx';

interface DenseSessionsProps {
  nodes: readonly NodeRow[];
  routerOf: (peer: string) => RouterView | undefined;
  toneOf: (session: SessionRow, node: NodeRow, router: RouterView | undefined) => string;
  chosen: { node: string; peer: string };
}

export function DenseSessions({ nodes, routerOf, toneOf, chosen }: DenseSessionsProps) {
  const racks = new Map<string, NodeRow[]>();
  for (const node of nodes) racks.set(node.rack, [...(racks.get(node.rack) ?? []), node]);
  const all = [...racks].map(([rack, own]) => rackOf(rack, own, routerOf, toneOf));
  // What needs a look first; then as people count racks.
  all.sort((a, b) => b.bad - a.bad || a.rack.localeCompare(b.rack, 'en', { numeric: true }));
  return (
    <div class="dense">
      {all.map(({ rack, lines, bad, count }) => (
        <section key={rack} class="dense-rack" aria-label={rack || 'no rack'}>
          <h2>
            {rack || 'no rack'}{' '}
            <span class="muted small">
              {bad === 0 ? `${count} up` : `${bad} of ${count} not up`}
            </span>
          </h2>
          {lines.map(({ peer, cells }) => (
            <div key={peer} class="dense-line">
              <a class="dense-peer" href={`/routers/${encodeURIComponent(peer)}`}>
                {peer}
              </a>
              <span class="dense-cells">
                {cells.map(({ node, session, tone }) => {
                  const isChosen = chosen.node === node.name && chosen.peer === peer;
                  const words = `${node.name} → ${peer}: ${session.state}${session.lastError ? `, ${session.lastError}` : ''}`;
                  return (
                    <button
                      type="button"
                      key={node.name}
                      class={`square square-${tone}`}
                      aria-label={words}
                      title={words}
                      aria-pressed={isChosen}
                      onClick={() =>
                        setQuery(isChosen ? { node: '', peer: '' } : { node: node.name, peer })
                      }
                    />
                  );
                })}
              </span>
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

interface RackCell {
  node: NodeRow;
  session: SessionRow;
  tone: string;
}

function rackOf(
  rack: string,
  nodes: readonly NodeRow[],
  routerOf: DenseSessionsProps['routerOf'],
  toneOf: DenseSessionsProps['toneOf'],
) {
  const byPeer = new Map<string, RackCell[]>();
  for (const node of nodes) {
    for (const session of node.sessions) {
      const tone = toneOf(session, node, routerOf(session.peer));
      const cells = byPeer.get(session.peer) ?? [];
      cells.push({ node, session, tone });
      byPeer.set(session.peer, cells);
    }
  }
  const lines = [...byPeer]
    .sort(([a], [b]) => plainName.compare(a, b))
    .map(([peer, cells]) => ({ peer, cells }));
  const cells = lines.flatMap((line) => line.cells);
  return {
    rack,
    lines,
    count: cells.length,
    bad: cells.filter(({ tone }) => tone !== 'good').length,
  };
}
