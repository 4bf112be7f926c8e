/** What the Truth table is made of; the console's page shows it as it is. */
import type { DoctorReason } from './finding.ts';

export interface TruthColumn {
  id: string;
  label: string;
  /** What it is, for those who ask. */
  title: string;
  /** False: nothing of this source could be seen, which is not the same as agreement. */
  isSeen: boolean;
  /** Nobody asked it. */
  isUnasked?: boolean;
}

/**
 * `differs` names something that is not the node's, `missing` lacks something
 * that should be there, `conflict` is a block that another also has; `empty` says
 * nothing, and that is fine.
 */
export type CellState =
  | 'truth'
  | 'agrees'
  | 'differs'
  | 'missing'
  | 'conflict'
  | 'empty'
  | 'unseen';

export interface TruthCell {
  column: string;
  cidrs: string[];
  state: CellState;
  /** Of what is not the node's own: whose it is. */
  others?: Array<{ cidr: string; owner: string }>;
}

export interface TruthRow {
  node: string;
  cells: TruthCell[];
  /** Why the row is red: reasons of findings; empty where all agree. */
  reasons: DoctorReason[];
}

export interface TruthTable {
  columns: TruthColumn[];
  rows: TruthRow[];
}
