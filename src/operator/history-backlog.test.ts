import { expect, test } from 'vitest';
import { block, registerOf } from '../../test/register/objects.ts';
import { volumeOf } from '../model/block-history.ts';
import { HistoryBacklog } from './history-backlog.ts';

const cidr = '10.5.0.0/24';
const volume = volumeOf(cidr);
const clock = { wallMs: () => 1_000_000, monotonicMs: () => 0 };

test('a block that is given again while its end is being written was assigned, not found', () => {
  const backlog = new HistoryBacklog({ register: registerOf([]), clock });
  const first = { ...block(cidr, 'node1'), uid: 'first' };
  backlog.assigned(cidr, 'Assigned');
  backlog.handlers.blocks.onPut?.(first, undefined);
  const given = backlog.missingIn(volume, []) ?? [];
  backlog.written(given);

  backlog.handlers.blocks.onDelete?.(first, 'observed');
  const ended = backlog.missingIn(volume, given) ?? [];
  // The write of that is under way.
  backlog.assigned(cidr, 'Assigned');
  backlog.handlers.blocks.onPut?.({ ...block(cidr, 'node2'), uid: 'second' }, undefined);
  backlog.written(ended);

  const [log] = backlog.missingIn(volume, ended) ?? [];
  expect(log?.entries.map(({ event, node }) => `${event} ${node}`)).toEqual([
    'Assigned node1',
    'Released node1',
    'Assigned node2',
  ]);
});
