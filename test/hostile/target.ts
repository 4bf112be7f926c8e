/** A program of ours under attack: another process, whose costs are measured inside it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { checkoutDir } from '../../scripts/checkout.mjs';
import type { PartProcess } from '../parts/part-process.ts';

export interface Figures {
  writes: number;
  pid: number;
  /** The most processor time between two turns of the event loop. */
  longestTurnMs: number;
  mostMemoryMb: number;
  uncaught: string[];
}

export interface Limits {
  longestTurnMs: number;
  mostMemoryMb: number;
}

/** The environment in which a program measures itself. */
export function measured(dir: string, name: string): Record<string, string> {
  const monitor = join(checkoutDir, 'test/hostile/monitor.mjs');
  return { NODE_OPTIONS: `--import=${monitor}`, HOSTILE_FIGURES: join(dir, `${name}.figures`) };
}

/** What it cost up to now, and which limits that breaks. */
export async function examine(
  part: PartProcess,
  dir: string,
  name: string,
  limits: Limits,
): Promise<{ figures: Figures; broken: string[] }> {
  const file = join(dir, `${name}.figures`);
  const read = () =>
    existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Figures) : undefined;
  const writesBefore = read()?.writes ?? 0;
  // Two more: the first may have been under way while the last answer was sent.
  let figures = read();
  while (part.ended === undefined && (figures?.writes ?? 0) < writesBefore + 2) {
    await setTimeout(50);
    figures = read();
  }
  figures ??= { writes: 0, pid: 0, longestTurnMs: 0, mostMemoryMb: 0, uncaught: [] };
  const broken: string[] = figures.uncaught.map((error) => `${name}: uncaught ${error}`);
  if (part.ended !== undefined) broken.push(`${name} ended (${part.ended}): ${part.tail(15)}`);
  else if (figures.pid !== part.pid)
    broken.push(`${name} is process ${figures.pid}, not ${part.pid}`);
  if (figures.longestTurnMs > limits.longestTurnMs) {
    broken.push(
      `${name}: the event loop was blocked for ${figures.longestTurnMs.toFixed(0)} ms, more than ${limits.longestTurnMs}`,
    );
  }
  if (figures.mostMemoryMb > limits.mostMemoryMb) {
    broken.push(
      `${name}: ${figures.mostMemoryMb.toFixed(0)} MB of memory, more than ${limits.mostMemoryMb}`,
    );
  }
  return { figures, broken };
}
