export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  notes: string[];
}
export function readReport(text: string): Counts;

export function failedFiles(text: string): string[];

export function mergeSecondTry(first: string, second: string): { text: string; unsteady: string[] };
