/**
 * `cadastre up`, killed in the middle of writes fifty times (or as often as the
 * first argument says): nothing that was acknowledged may be lost.
 */
import { killInTheMiddle } from '../up/kill-in-the-middle.ts';
import { startUp } from '../up/up-process.ts';

const kills = Number(process.argv[2] ?? 50);
const up = await startUp();
try {
  const { acknowledged, lost } = await killInTheMiddle(up, kills, (n, total) => {
    console.log(
      `kill ${n} of ${kills}: ${total} writes acknowledged so far, ready again after ${(up.readyAfterMs / 1000).toFixed(1)} s`,
    );
  });
  for (const one of lost) console.log(`LOST ${one}`);
  console.log(`${acknowledged} writes acknowledged, ${kills} kills, ${lost.length} lost`);
  process.exitCode = lost.length === 0 ? 0 : 1;
} finally {
  await up.stop();
}
