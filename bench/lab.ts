/**
 * `cadastre lab up`, as one types it: from the moment the API server is up to
 * every pod answering from the outside host, against the 20 s that a person will
 * wait. Needs root, FRR, and kube-apiserver in the cache.
 *
 *   npm run bench -- lab [RUNS]
 */
import { closeLabs, labName, mustLab, openLabs, replayStory } from '../test/lab/lab-program.ts';

const runs = Number(process.argv[2] ?? 3);
const limitSeconds = 20;

interface Up {
  apiServerSeconds: number;
  convergedSeconds: number;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

await openLabs();
try {
  const name = labName('bench');
  for (const topology of ['two-racks', 'incident'] as const) {
    const converged: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const args = ['up', topology, '--routers', 'frr', '--api-server', 'real', '--name', name];
      const up = JSON.parse((await mustLab([...args, '-o', 'json'])).stdout) as Up;
      console.log(
        `${topology}: API server up after ${up.apiServerSeconds.toFixed(1)} s, every pod answers ${up.convergedSeconds.toFixed(1)} s later`,
      );
      converged.push(up.convergedSeconds);
      if (topology === 'incident' && run === runs) {
        const { ok, pings, seconds } = await replayStory(name, 'rolling-upgrade');
        const lost = pings.reduce((sum, one) => sum + one.lost, 0);
        const sent = pings.reduce((sum, one) => sum + one.sent, 0);
        console.log(`rolling-upgrade: ${lost} of ${sent} pings lost, ${seconds} s, ok ${ok}`);
      }
      await mustLab(['down', name]);
    }
    console.log(`ratio lab-${topology}-to-20s ${(median(converged) / limitSeconds).toFixed(3)}`);
  }
} finally {
  await closeLabs();
}
