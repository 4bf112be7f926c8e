/**
 * Runs one suite: brings what it needs, then a command or vitest, and counts.
 *
 * Tests are counted from vitest's JSON report, not from what it prints. Lint
 * and types count as one test each, a skipped suite as one skipped.
 *
 * With real parts or real clocks on a busy machine a story may fail for reasons of its own. So
 * the files of such a suite in which a few tests failed are run once more; what
 * passes only then is named in the summary as unsteady, for somebody to look at.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir, secondsSince } from './checkout.mjs';
import { failedFiles, mergeSecondTry, readReport } from './report.mjs';
import { isInterrupted, takeChildrenSeconds } from './suite-process.mjs';

/**
 * @typedef {object} Result
 * @property {string} name
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string} took wall time, and processor time where it is known
 * @property {string[]} notes
 */

/**
 * @typedef {object} SuiteRun
 * @property {import('./suites.mjs').Suite} suite
 * @property {string[]} words for vitest: only files whose path holds one
 * @property {boolean} isCi a suite that cannot run is a failure
 * @property {import('./suite-process.mjs').SuiteProcess} process
 * @property {Result} result
 */

const reports = join(checkoutDir, 'artefacts/test');

/** @param {Omit<SuiteRun, 'result'>} what @returns {Promise<Result>} */
export async function runSuite(what) {
  const { suite, process } = what;
  const start = performance.now();
  /** @type {Result} */
  const result = { name: suite.name, passed: 0, failed: 0, skipped: 0, took: '', notes: [] };
  const run = { ...what, result };
  process.say(`=== ${suite.name}: ${suite.what}`);
  try {
    const reason = suite.needs && (await oneAtATime(suite.needs));
    if (reason !== undefined) skip(run, reason);
    else if (suite.command) await runCommand(run, suite.command);
    else await runVitest(run);
  } catch (error) {
    fail(result, error instanceof Error ? error.message : String(error));
    process.say(`${suite.name}: ${error instanceof Error ? error.message : error}`);
  }
  const cpu = process.cpuSeconds;
  result.took = `${secondsSince(start)}${cpu === undefined ? '' : `, ${Math.round(cpu)} s of CPU`}`;
  return result;
}

/** @type {Promise<unknown>} */
let lastNeeds = Promise.resolve();

/** Two suites may need the same package or part: the second one finds it there. @param {import('./suites.mjs').Needs} needs */
function oneAtATime(needs) {
  const mine = lastNeeds.then(async () => {
    const { meetNeeds } = await import('./needs.mjs');
    try {
      return await meetNeeds(needs);
    } finally {
      // What was built is no time of a suite.
      takeChildrenSeconds();
    }
  });
  lastNeeds = mine.catch(() => {});
  return mine;
}

/** @param {SuiteRun} run @param {string} reason */
function skip({ suite, isCi, result, process }, reason) {
  const isForgiven = suite.mayBeSkipped || !isCi;
  if (!isForgiven) {
    fail(result, `could not run, which CI=true does not forgive: ${reason}`);
  } else {
    result.skipped++;
    result.notes.push(`skipped: ${reason}`);
  }
  process.say(`${suite.name}: ${isForgiven ? 'SKIPPED' : 'FAILED'}: ${reason}`);
}

/** @param {Result} result @param {string} reason */
function fail(result, reason) {
  result.failed++;
  result.notes.push(reason);
}

/** @param {SuiteRun} run @param {string[]} command */
async function runCommand({ process, result }, command) {
  const code = await process.run(command);
  if (code === 0) result.passed++;
  else fail(result, `${command.join(' ')} failed (${code})`);
}

/** Beyond this it is no accident. */
const mostSecondTries = 5;

/** @param {SuiteRun} run */
async function runVitest(run) {
  const { suite, words, process, result } = run;
  mkdirSync(reports, { recursive: true });
  let { code, text } = await tryVitest(run, words);
  if (text === undefined) {
    fail(result, `vitest ended (${code}) without a report`);
    return;
  }
  let counts = readReport(text);
  const isWaiting = suite.usesRealParts || suite.waitsForClocks;
  if (isWaiting && counts.failed > 0 && counts.failed <= mostSecondTries) {
    const files = failedFiles(text);
    process.say(`${suite.name}: ${counts.failed} failed; once more: ${files.join(' ')}`);
    const again = isInterrupted() ? undefined : await tryVitest(run, files);
    if (again?.text !== undefined) {
      const merged = mergeSecondTry(text, again.text);
      writeFileSync(join(reports, `${suite.name}.json`), merged.text);
      code = again.code;
      counts = readReport(merged.text);
      for (const name of merged.unsteady) {
        result.notes.push(`unsteady, passed only at the second try: ${name}`);
      }
    }
  }
  result.passed += counts.passed;
  result.failed += counts.failed;
  result.skipped += counts.skipped;
  result.notes.push(...counts.notes);
  if (counts.passed + counts.failed === 0)
    fail(result, 'no test was run, although there are files');
  // An error outside every test: vitest knows, its counts do not.
  else if (code !== 0 && result.failed === 0) fail(result, `vitest failed (${code})`);
}

/**
 * @param {SuiteRun} run
 * @param {string[]} words
 * @returns {Promise<{ code: string | number; text: string | undefined }>}
 */
async function tryVitest({ suite, process }, words) {
  const report = join(reports, `${suite.name}.json`);
  rmSync(report, { force: true });
  const code = await process.run([
    'vitest',
    'run',
    `--project=${suite.name}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...words,
  ]);
  return { code, text: existsSync(report) ? readFileSync(report, 'utf8') : undefined };
}
