import { historyEvents, maxEntriesOfVolume, maxPeers, maxWhyLength } from './block-history.ts';
import { crd, type Schema } from './crd.ts';

const text = (maxLength: number): Schema => ({ type: 'string', maxLength });
const list = (maxItems: number, items: Schema): Schema => ({
  type: 'array',
  maxItems,
  'x-kubernetes-list-type': 'atomic',
  items,
});

const entry: Schema = {
  type: 'object',
  required: ['at', 'event', 'node'],
  properties: {
    at: { type: 'string', format: 'date-time' },
    event: { type: 'string', enum: historyEvents },
    node: text(253),
    nodeUID: text(128),
    blockUID: text(128),
    pool: text(253),
    why: text(maxWhyLength),
    peers: list(maxPeers, text(253)),
  },
};

export const blockHistoryCrd = crd(
  'BlockHistory',
  'blockhistories',
  ['bh'],
  {
    spec: {
      type: 'object',
      description:
        'One volume of what became of blocks: who held them, why, and when they were announced. Written by the operator; cadastre explain reads it.',
      properties: {
        blocks: list(maxEntriesOfVolume, {
          type: 'object',
          required: ['cidr', 'entries'],
          properties: {
            cidr: text(43),
            dropped: { type: 'integer', format: 'int64', minimum: 0 },
            entries: list(maxEntriesOfVolume, entry),
          },
        }),
      },
    },
    status: { type: 'object' },
  },
  [],
);
