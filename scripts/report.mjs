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
