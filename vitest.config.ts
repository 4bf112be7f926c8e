import { defineConfig } from 'vitest/config';
import { suites } from './scripts/suites.mjs';

/**
 * One project a suite. What touches real parts runs one file at a time, with
 * timeouts for a busy two-core machine.
 */
const withRealParts = { fileParallelism: false, testTimeout: 120_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    projects: suites
      .filter((suite) => suite.include !== undefined)
      .map((suite) => ({
        test: {
          name: suite.name,
          include: suite.include ?? [],
          ...(suite.exclude === undefined ? {} : { exclude: [`**/*${suite.exclude}`] }),
          ...(suite.usesRealParts ? withRealParts : {}),
        },
      })),
  },
});
