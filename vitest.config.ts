import { defineConfig } from 'vitest/config';

/**
 * One project per suite of scripts/test.mjs. What touches real parts runs one
 * file at a time, with timeouts for a busy two-core machine.
 */
const withRealParts = {
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'test/*.test.ts'] } },
      { test: { name: 'cases', include: ['test/cases/**/*.test.ts'] } },
      { test: { name: 'world', include: ['test/world/**/*.test.ts'], ...withRealParts } },
      { test: { name: 'kernel', include: ['test/kernel/**/*.test.ts'], ...withRealParts } },
      { test: { name: 'interop', include: ['test/interop/**/*.test.ts'], ...withRealParts } },
    ],
  },
});
