/**
 * Every story of the lab, each also on BIRD where `npm test` plays it on FRR alone (root, Linux).
 * The same tests as in the suite `lab`, about seven minutes.
 *
 *   npm run soak -- replays
 */
import { spawnSync } from 'node:child_process';

const { status } = spawnSync(
  'node_modules/.bin/vitest',
  ['run', '--project', 'lab', 'test/lab/replays.test.ts'],
  { stdio: 'inherit', env: { ...process.env, CADASTRE_REPLAYS: 'all' } },
);
process.exitCode = status ?? 1;
