export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  notes: string[];
}
export function readReport(text: string): Counts;
