import { ageText } from '../../base/age-text.ts';
import type { EntryRow } from '../rows.ts';
import { newestFirst } from './entry-order.ts';
import { address } from './location.ts';
import { BlockLink, Empty, NodeLink, timeText } from './parts.tsx';

/** What happened, newest first. */
export function EntryList(props: {
  entries: readonly EntryRow[];
  now: number;
  limit?: number;
  isFiltered?: boolean;
}) {
  const { entries, now, limit = 300 } = props;
  const shown = [...entries].sort(newestFirst).slice(0, limit);
  if (shown.length === 0) {
    return (
      <Empty>
        {props.isFiltered ? 'Nothing has happened that matches.' : 'Nothing has happened yet.'}
      </Empty>
    );
  }
  return (
    <ol class="entries">
      {shown.map((entry) => (
        <li key={entry.id} class={entry.isWarning ? 'warning' : ''}>
          <time
            dateTime={new Date(entry.atMs).toISOString()}
            title={`${ageText(now - entry.atMs)} ago`}
          >
            {timeText(entry.atMs)}
          </time>
          <span class="reason">{entry.reason}</span>
          <span class="entry-text">{linked(entry)}</span>
        </li>
      ))}
      {entries.length > shown.length && (
        <li class="muted more">
          {`and ${entries.length - shown.length} more; `}
          <a href={address('events')}>Events</a> has filters that find them
        </li>
      )}
    </ol>
  );
}

/** The sentence, with the node and the block in it as links. */
function linked({ text, node, cidr }: EntryRow) {
  const words = [node, cidr].filter((word) => word !== '').map(escaped);
  if (words.length === 0) return text;
  const pieces = text.split(new RegExp(`\\b(${words.join('|')})(?![\\w./])`));
  return pieces.map((piece, index) => {
    if (piece === '') return piece;
    if (piece === node) return <NodeLink key={index} name={piece} />;
    if (piece === cidr && !cidr.includes(',')) return <BlockLink key={index} cidr={piece} />;
    return piece;
  });
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
