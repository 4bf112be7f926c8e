/**
 * `npm test`: set-up, then every suite, two at a time where one of them waits, then one summary.
 *
 *   --quick       only what takes seconds: lint, types, unit
 *   --only NAME   only this suite; may be repeated
 *   --list        say which suites there are
 *   -- WORD…      passed to vitest: only files whose path holds a word
 */

import { say, secondsSince } from './checkout.mjs';
import { runSuite } from './run-suite.mjs';
import { runSideBySide } from './side-by-side.mjs';
import { isInterrupted, SuiteProcess } from './suite-process.mjs';
import { suites, testFiles } from './suites.mjs';

/** @typedef {import('./run-suite.mjs').Result} Result */

const isCi = process.env.CI === 'true' || process.env.CI === '1';

/** @param {string[]} argv */
function parse(argv) {
  const cut = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const words = argv.slice(cut + 1);
  /** @type {string[]} */
  const only = [];
  let isQuick = false;
  let isList = false;
  const own = argv.slice(0, cut);
  for (let i = 0; i < own.length; i++) {
    const word = /** @type {string} */ (own[i]);
    if (word === '--quick') isQuick = true;
    else if (word === '--list') isList = true;
    else if (word === '--only') only.push(own[++i] ?? '');
    else return { error: `test: unknown argument ${word}` };
  }
  const unknown = only.find((name) => !suites.some((suite) => suite.name === name));
  if (unknown !== undefined) {
    return {
      error: `test: there is no suite "${unknown}"; there are: ${suites.map((suite) => suite.name).join(', ')}`,
    };
  }
  return { only, isQuick, isList, words };
}

/** @param {Result[]} results @param {string} took */
function summarise(results, took) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines = [`\n=== summary (${took})`];
  for (const result of results) {
    for (const kind of /** @type {const} */ (['passed', 'failed', 'skipped'])) {
      total[kind] += result[kind];
    }
    const verdict = result.failed > 0 ? 'FAILED' : result.passed > 0 ? 'ok' : 'SKIPPED';
    const counts = `${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`;
    lines.push(`${verdict.padEnd(8)} ${result.name.padEnd(9)} ${counts} (${result.took})`);
    for (const note of result.notes)
      lines.push(`           ${note.replaceAll('\n', '\n           ')}`);
  }
  lines.push(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.stdout.write(`${lines.join('\n')}\n`);
  return total.failed === 0 && !isInterrupted();
}

/** @param {Result} result */
const orderOf = (result) => suites.findIndex((suite) => suite.name === result.name);

async function main() {
  const options = parse(process.argv.slice(2));
  if ('error' in options) {
    say(/** @type {string} */ (options.error));
    return 2;
  }
  const chosen = suites.filter(
    (suite) =>
      (suite.command !== undefined || testFiles(suite).length > 0) &&
      (options.only.length === 0 || options.only.includes(suite.name)) &&
      (!options.isQuick || suite.isQuick),
  );
  if (options.isList) {
    for (const suite of chosen) process.stdout.write(`${suite.name.padEnd(9)} ${suite.what}\n`);
    return 0;
  }
  const start = performance.now();
  /** @type {Result[]} */
  const results = [];
  try {
    const { setUp } = await import('./setup.mjs');
    await setUp();
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    const took = secondsSince(start);
    results.push({ name: 'set-up', passed: 0, failed: 1, skipped: 0, took, notes: [note] });
    summarise(results, took);
    return 1;
  }
  // A name before each line only where two can print at once.
  const isMixed = chosen.length > 1 && chosen.some((suite) => suite.usesRealParts);
  await runSideBySide(chosen, {
    places: 2,
    isOver: isInterrupted,
    async run(suite) {
      const process = new SuiteProcess(isMixed ? suite.name : undefined);
      results.push(await runSuite({ suite, words: options.words, isCi, process }));
    },
  });
  if (isInterrupted()) say('\ntest: interrupted; the suites not listed below were not run');
  results.sort((one, other) => orderOf(one) - orderOf(other));
  return summarise(results, secondsSince(start)) ? 0 : 1;
}

process.exitCode = await main();
