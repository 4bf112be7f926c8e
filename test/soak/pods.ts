/**
 * Two hundred pods, or as many as you say, come and go on a cluster of real kubelets (root, Linux).
 * The same test as in the suite `cluster`, which takes sixty.
 *
 *   npm run soak -- pods [COUNT]
 */
import { spawnSync } from 'node:child_process';

const count = process.argv[2] ?? '200';
if (!/^[1-9]\d{0,4}$/.test(count)) {
  console.error('usage: npm run soak -- pods [COUNT]');
  process.exit(2);
}
const { status } = spawnSync(
  'node_modules/.bin/vitest',
  ['run', '--project', 'cluster', 'test/cluster/stories.test.ts', '-t', 'pods come and go'],
  { stdio: 'inherit', env: { ...process.env, CADASTRE_PODS: count } },
);
process.exitCode = status ?? 1;
