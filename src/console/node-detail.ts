/** What the page asks for when somebody looks at one node: why this pool and no other. */
export interface NodeDetail {
  node: string;
  pool: string;
  /** In words; empty if it holds nothing. */
  why: string;
  candidates: Array<{
    pool: string;
    isSelecting: boolean;
    unmet: string[];
    priority: number;
    obstacle: string;
    free: number;
  }>;
}
