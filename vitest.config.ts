import { defineConfig } from 'vitest/config';
import { suites } from './scripts/suites.mjs';

/**
 * One project a suite. What touches real parts runs one file at a time, or as
 * many as the suite says, with timeouts for a busy two-core machine.
 */
const withRealParts = (workers = 1) => ({
  fileParallelism: workers > 1,
  maxWorkers: workers,
  testTimeout: 240_000,
  hookTimeout: 240_000,
});

/**
 * As many files at a time as there are cores; vitest's own way is one core fewer, which
 * on two is half of them. A worker loads a module once, not once for each of its files: loading
 * took two thirds of the time. So a file puts back what it changes in a module or in the process.
 * A test that hangs is noticed after minutes, not sooner: on a busy machine a second of work
 * takes many. For the same reason a condition is polled for a minute.
 */
const alone = { maxWorkers: '100%', isolate: false, testTimeout: 180_000, hookTimeout: 180_000 };

export default defineConfig({
  test: {
    globalSetup: ['test/parts/random-seed-notice.ts'],
    projects: suites
      .filter((suite) => suite.include !== undefined)
      .map((suite) => ({
        test: {
          name: suite.name,
          include: suite.include ?? [],
          ...(suite.exclude === undefined ? {} : { exclude: [`**/*${suite.exclude}`] }),
          ...(suite.usesRealParts ? withRealParts(suite.workers) : alone),
          expect: { poll: { timeout: 60_000 } },
          setupFiles: ['test/parts/random-setup.ts'],
        },
      })),
  },
});
