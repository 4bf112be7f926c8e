import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonLog } from './json-log.ts';

test.runIf(existsSync('/dev/full'))('a full disk takes the log, not the process', async () => {
  const log = jsonLog({ destination: { path: '/dev/full' } });
  const line = 'x'.repeat(10_000);
  const before = process.memoryUsage.rss();
  for (let count = 0; count < 5000; count++) log.info({ count }, line);
  // An error that nobody listens to would have ended the process by now.
  await new Promise((resolve) => setImmediate(resolve));
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 << 20);
});
