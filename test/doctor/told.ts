import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DoctorReport } from '../../src/plan/doctor/finding.ts';
import type { WhatIf } from '../../src/plan/doctor/what-if-answer.ts';
import { nowText, run, type Told } from '../cli/collecting-terminal.ts';

const fixtures = new URL('./fixtures', import.meta.url).pathname;

/** A copy of the fixtures, saved half an hour before the tests' noon: ages are part of the answer. */
export function agedFixtures(): { path(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'cad-doctor-fixtures-'));
  cpSync(fixtures, folder, { recursive: true });
  const at = Date.parse(nowText) / 1000 - 1800;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile()) utimesSync(path, at, at);
  }
  return {
    path: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export async function doctor(...argv: string[]): Promise<Told & { report: DoctorReport }> {
  const told = await run(['doctor', ...argv, '-o', 'json']);
  const report = (told.stdout === '' ? {} : JSON.parse(told.stdout)) as DoctorReport;
  return { ...told, report };
}

export async function whatIf(...argv: string[]): Promise<Told & { answer: WhatIf }> {
  const told = await run(['whatif', ...argv, '-o', 'json']);
  const answer = (told.stdout === '' ? {} : JSON.parse(told.stdout)) as WhatIf;
  return { ...told, answer };
}

/** How many findings of each reason. */
export function countsOf({ findings }: Pick<DoctorReport, 'findings'>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of findings) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
