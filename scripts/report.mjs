/**
 * Counts a vitest JSON report. A file that could not even be loaded has no
 * tests in the report and is a failure all the same.
 * @param {string} text
 * @returns {{ passed: number; failed: number; skipped: number; notes: string[] }}
 */
export function readReport(text) {
  const counts = { passed: 0, failed: 0, skipped: 0, notes: /** @type {string[]} */ ([]) };
  for (const file of JSON.parse(text).testResults) {
    let failedInFile = 0;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counts.passed++;
      else if (test.status === 'failed') {
        failedInFile++;
        counts.notes.push(`failed: ${test.fullName}`);
      } else {
        counts.skipped++;
        counts.notes.push(`skipped: ${test.fullName}`);
      }
    }
    if (file.status === 'failed' && failedInFile === 0) {
      failedInFile = 1;
      counts.notes.push(`failed: ${file.name}: ${String(file.message).split('\n')[0]}`);
    }
    counts.failed += failedInFile;
  }
  return counts;
}

/** The files of a report in which something failed. @param {string} text @returns {string[]} */
export function failedFiles(text) {
  return JSON.parse(text)
    .testResults.filter((/** @type {{ status: string }} */ file) => file.status === 'failed')
    .map((/** @type {{ name: string }} */ file) => file.name);
}

/**
 * A report in which the files that were run again stand with their second
 * result, and the names of the tests that failed only the first time.
 * @param {string} first
 * @param {string} second
 * @returns {{ text: string; unsteady: string[] }}
 */
export function mergeSecondTry(first, second) {
  const report = JSON.parse(first);
  /** @type {Map<string, { assertionResults: { fullName: string; status: string }[] }>} */
  const again = new Map();
  for (const file of JSON.parse(second).testResults) again.set(file.name, file);
  /** @type {string[]} */
  const unsteady = [];
  report.testResults = report.testResults.map(
    (
      /** @type {{ name: string; assertionResults: { fullName: string; status: string }[] }} */ file,
    ) => {
      const retried = again.get(file.name);
      if (retried === undefined) return file;
      const passed = new Set(
        retried.assertionResults.filter((test) => test.status === 'passed').map((t) => t.fullName),
      );
      for (const test of file.assertionResults) {
        if (test.status === 'failed' && passed.has(test.fullName)) unsteady.push(test.fullName);
      }
      return retried;
    },
  );
  return { text: JSON.stringify(report), unsteady };
}
