import { defineConfig } from 'vitest/config';
import { suites } from './scripts/suites.mjs';

/**
 * One project a suite. What touches real parts runs one file at a time, or as
 * many as the suite says, with timeouts for a busy two-core machine.
 */
const withRealParts = (workers = 1) => ({
  fileParallelism: workers > 1,
  maxWorkers: workers,
  testTimeout: 120_000,
  hookTimeout: 120_000,
});

export default defineConfig({
  test: {
    projects: suites
      .filter((suite) => suite.include !== undefined)
      .map((suite) => ({
        test: {
          name: suite.name,
          include: suite.include ?? [],
          ...(suite.exclude === undefined ? {} : { exclude: [`**/*${suite.exclude}`] }),
          // Not one core fewer, as is vitest's way: on two that is half of them.
          ...(suite.usesRealParts ? withRealParts(suite.workers) : { maxWorkers: '100%' }),
        },
      })),
  },
});
