import type { RowKind } from './rows.ts';

/** Kinds that are of the moment; of the others the page shows what is now. */
export const pastKinds: readonly RowKind[] = [
  'pool',
  'block',
  'node',
  'router',
  'finding',
  'cause',
  'room',
  'column',
  'truth',
  'judgement',
];
