import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/family.ts';

/** Something that is not as it should be, with everybody it concerns. */
export interface Finding {
  reason: Reason;
  nodes: string[];
  cidr: string;
  detail: string;
}

/** Why a node lacks blocks, in one line; empty: it lacks none. */
export function refusalText(refused: readonly BlockRefusal[]): string {
  return refused.map(({ family, detail }) => `${family}: ${detail}`).join('; ');
}

/** Why a node did not get a block of one family. */
export interface BlockRefusal {
  family: Family;
  reason: Reason;
  detail: string;
}
