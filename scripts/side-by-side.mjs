/**
 * Two suites at a time. One without real parts computes, with a worker for each core. One with
 * real parts mostly waits for them: for leases, hold timers, programs that start. So one that
 * computes has one beside it that waits; when nothing is left to compute, two that wait.
 * They may meet: every namespace, folder and port of a test is named by its process or drawn.
 */

/** @param {import('./suites.mjs').Suite} suite */
const computes = (suite) => suite.usesRealParts !== true;

/**
 * @param {readonly import('./suites.mjs').Suite[]} suites in the order in which they are started
 * @param {object} options
 * @param {number} options.places how many at a time
 * @param {() => boolean} options.isOver no more is started
 * @param {(suite: import('./suites.mjs').Suite) => Promise<void>} options.run never refused
 */
export async function runSideBySide(suites, { places, isOver, run }) {
  const waiting = [...suites];
  /** @type {Map<import('./suites.mjs').Suite, Promise<void>>} */
  const running = new Map();
  const mayStart = (/** @type {import('./suites.mjs').Suite} */ suite) =>
    running.size < places && !(computes(suite) && [...running.keys()].some(computes));
  for (;;) {
    const at = isOver() ? -1 : waiting.findIndex(mayStart);
    const [next] = at < 0 ? [] : waiting.splice(at, 1);
    if (next !== undefined) {
      running.set(
        next,
        run(next).then(() => void running.delete(next)),
      );
    } else if (running.size > 0) {
      await Promise.race(running.values());
    } else {
      return;
    }
  }
}
