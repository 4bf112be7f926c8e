import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonLog } from './json-log.ts';

test('one JSON object a line, level as a word, nothing below the level, written at once', () => {
  const dir = mkdtempSync(join(tmpdir(), 'json-log-'));
  const path = join(dir, 'operator.log');
  const log = jsonLog({ level: 'info', destination: { path }, fields: { component: 'operator' } });
  log.debug({ node: 'node1' }, 'not said');
  log.info({ reason: 'BlockAssigned', node: 'node1' }, 'assigned 10.0.0.0/24');
  log.error({ reason: 'PoolExhausted' }, 'no block\nleft');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      component: 'operator',
      reason: 'BlockAssigned',
      node: 'node1',
      msg: 'assigned 10.0.0.0/24',
    },
    {
      level: 'error',
      time: expect.any(String),
      component: 'operator',
      reason: 'PoolExhausted',
      msg: 'no block\nleft',
    },
  ]);
  rmSync(dir, { recursive: true });
});
