import { EntryList } from './entries.tsx';
import { type PageLocation, setQuery } from './location.ts';
import { Filter, SameCommand, Scroll, useNow } from './parts.tsx';
import { useStore } from './store.ts';

/** What happened, newest first, by node, block or reason. */
export function Events({ place }: { place: PageLocation }) {
  const store = useStore();
  const now = useNow();
  const node = place.query.get('node') ?? '';
  const block = place.query.get('block') ?? '';
  const reason = place.query.get('reason') ?? '';
  const holds = (text: string, wanted: string) =>
    text.toLowerCase().includes(wanted.trim().toLowerCase());
  const atMs = store.past?.atMs ?? Number.POSITIVE_INFINITY;
  const find = place.query.get('find') ?? '';
  const all = store.all('entry');
  const entries = all.filter(
    (entry) =>
      entry.atMs <= atMs &&
      holds(entry.node, node) &&
      holds(entry.cidr, block) &&
      holds(entry.reason, reason) &&
      holds(`${entry.text} ${entry.node} ${entry.cidr}`, find),
  );
  const reasons = [...new Set(all.map((entry) => entry.reason))].sort();
  return (
    <section class="view">
      <div class="view-head">
        <h1>Events</h1>
        <Filter label="Words" value={find} onInput={(value) => setQuery({ find: value })} />
        <Filter label="Node" value={node} onInput={(value) => setQuery({ node: value })} />
        <Filter label="Block" value={block} onInput={(value) => setQuery({ block: value })} />
        <label class="filter">
          <span>Reason</span>
          <select
            aria-label="Reason"
            value={reason}
            onChange={(event) => setQuery({ reason: event.currentTarget.value })}
          >
            <option value="">any</option>
            {reasons.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Scroll class="card scroll tall padded" label="What happened">
        <EntryList entries={entries} now={now} isFiltered={all.length > 0} />
      </Scroll>
      <SameCommand command={`cadastre explain ${block === '' ? '0.0.0.0/0' : block}`} />
    </section>
  );
}
