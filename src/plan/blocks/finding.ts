import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/family.ts';

/** Something that is not as it should be, with everybody it concerns. */
export interface Finding {
  reason: Reason;
  nodes: string[];
  cidr: string;
  detail: string;
}

/** Why a node did not get a block of one family. */
export interface BlockRefusal {
  family: Family;
  reason: Reason;
  detail: string;
}
