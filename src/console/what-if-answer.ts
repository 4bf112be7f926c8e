/** The answer to "what if this node is drained", as the page shows it. */
export interface WhatIfAnswer {
  action: string;
  safe: boolean;
  loses: Array<{ node: string; prefix: string; why: string }>;
  routes: Array<{ router: string; prefix: string; before: string; after: string }>;
  /** Why it could not be worked out. */
  error?: string;
}
