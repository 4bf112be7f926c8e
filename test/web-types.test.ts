/** The console's page lives in a browser, so it is a TypeScript project of its own. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test("the console's page holds to its types", { timeout: 120_000 }, () => {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { stdout, status } = spawnSync(tsc, ['--noEmit', '-p', 'src/console/web'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});
