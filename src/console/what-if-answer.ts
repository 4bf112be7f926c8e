import type { WhatIf } from '../plan/doctor/finding.ts';

/** The answer to "what if", as the page gets it. */
export type WhatIfReply =
  | { kind: 'answer'; whatIf: Pick<WhatIf, 'action' | 'safe' | 'loses' | 'moves' | 'refused'> }
  /** Why it could not be worked out. */
  | { kind: 'unknown'; why: string };
