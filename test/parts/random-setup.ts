/**
 * Runs before every test file, and gives fast-check the seed where the file uses it.
 * A property that fails prints the command that finds the same failure again.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { RunDetails } from 'fast-check';
import { expect } from 'vitest';
import { shellWord } from '../../src/base/shell-word.ts';
import { factor, runs, seed } from './random.ts';

const { testPath = '' } = expect.getState();

// Loading fast-check takes as long as most test files do.
if (readFileSync(testPath, 'utf8').includes("'fast-check'")) {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({
    seed,
    numRuns: runs(100),
    reporter: (details) => {
      note(details.numRuns);
      if (!details.failed) return;
      const message = `${fc.defaultReportMessage(details)}\n\nreplay: ${replay(details)}`;
      throw new Error(message, { cause: details.errorInstance });
    },
  });
}

const file = () => relative(process.cwd(), testPath);

/** For the soak's account, which stands in a file because tests run in processes of their own. */
function note(numRuns: number): void {
  const path = process.env.FC_TALLY;
  if (path === undefined) return;
  const property = `${file()} > ${expect.getState().currentTestName}`;
  appendFileSync(path, `${JSON.stringify({ property, numRuns })}\n`);
}

function replay(details: RunDetails<unknown>): string {
  const name = (expect.getState().currentTestName ?? '').replaceAll(' > ', ' ');
  const pattern = `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
  const words = ['vitest', 'run', '--testTimeout=0', file(), '-t', pattern].map(shellWord);
  return `FC_SEED=${details.seed} FC_FACTOR=${factor} npx ${words.join(' ')}`;
}
