/**
 * The story `api-down-an-hour` in its full length, on FRR with the real API server and on BIRD with
 * the embedded one, at the same time (root, Linux). The same as in `npm test`, longer.
 *
 *   npm run soak -- api-down [SECONDS]
 */
import { closeLabs, labName, mustLab, openLabs, replayStory } from '../lab/lab-program.ts';

const seconds = Number(process.argv[2] ?? 3600);

async function outage(routers: string, apiServer: string): Promise<boolean> {
  const name = labName(routers);
  const site = ['incident', '--routers', routers, '--api-server', apiServer];
  await mustLab(['up', ...site, '--name', name]);
  const flags = ['--outage', String(seconds)];
  const { steps, pings, ok } = await replayStory(name, 'api-down-an-hour', flags);
  for (const { title, expectations } of steps) {
    for (const { what, why, ok: isSo } of expectations) {
      if (!isSo) console.log(`${routers}: ${title}: ${what}: ${why}`);
    }
  }
  const lost = pings.map(({ pod, lost: of, sent }) => `${pod} ${of} of ${sent}`).join(', ');
  console.log(`${routers} (${apiServer}), ${seconds} s: pings lost: ${lost}`);
  return ok;
}

await openLabs();
try {
  const results = await Promise.all([outage('frr', 'real'), outage('bird', 'embedded')]);
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  await closeLabs();
}
