/**
 * Records other than the register in which a node's blocks may stand, in the order of
 * trust. Which of them are adopted from is a column of the modes.
 */
export type HoldingSource =
  | 'report'
  | 'ciliumnode'
  | 'spec'
  | 'annotation'
  | 'old-annotation'
  /** Of CiliumNode, the blocks by pool: adopted in mode multi-pool, never cut over in any. */
  | 'pools';

export const holdingSources: readonly HoldingSource[] = [
  'report',
  'ciliumnode',
  'spec',
  'annotation',
  'old-annotation',
];
