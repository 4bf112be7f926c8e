/** The pods of a node by name, with their addresses. */

import type { PageLocation } from './location.ts';
import { Empty } from './parts.tsx';
import { ListCard, useAnswer } from './subject-page.tsx';

export function PodsOf({
  node,
  version,
  place,
}: {
  node: string;
  version: string;
  place: PageLocation;
}) {
  const answer = useAnswer({ kind: 'node', name: node }, version);
  const list = answer?.page?.lists.find(({ title }) => title === 'Pods');
  if (list !== undefined) {
    const columns = list.columns.slice(0, 2);
    return <ListCard list={{ ...list, columns }} sortKey="pods" place={place} />;
  }
  return (
    <>
      <h2>Pods</h2>
      {answer !== undefined && (
        <Empty>No pod of it was seen by name; whoever may list Pods sees them.</Empty>
      )}
    </>
  );
}
