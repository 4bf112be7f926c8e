/**
 * Floods and damaged input at every door:
 *
 *   npm run soak -- hostile [--scale 25] [--seed 1]
 */
import { parseArgs } from 'node:util';
import { attackEveryDoor } from '../hostile/attack.ts';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '25' },
    seed: { type: 'string', default: '1' },
  },
});
const began = performance.now();
const { figures, broken } = await attackEveryDoor({
  scale: Number(values.scale),
  seed: Number(values.seed),
  onDoor: (tally) => console.log(String(tally)),
});
for (const [name, { longestTurnMs, mostMemoryMb }] of figures) {
  console.log(
    `${name}: at most ${mostMemoryMb.toFixed(0)} MB, event loop blocked for at most ${longestTurnMs.toFixed(0)} ms of processor time`,
  );
}
for (const words of broken) console.log(`BROKEN ${words}`);
console.log(`seconds ${((performance.now() - began) / 1000).toFixed(0)}`);
console.log(`broken promises ${broken.length}`);
process.exitCode = broken.length === 0 ? 0 : 1;
