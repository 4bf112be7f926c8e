/**
 * All random tests with fresh seeds and more runs, round after round:
 *
 *   npm run soak -- properties [--minutes 10] [--factor 5] [--seed N] [WORD…]
 *
 * A WORD takes only test files whose path holds it; `--seed` is that of the first round.
 * The first failure ends it, with the command that finds the same failure again.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { soakProperties } from './properties/soak-properties.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    factor: { type: 'string', default: '5' },
    seed: { type: 'string' },
  },
});
let first = values.seed;
const hasPassed = await soakProperties({
  dir: process.cwd(),
  minutes: Number(values.minutes),
  factor: Number(values.factor),
  words: positionals,
  nextSeed: () => {
    const seed = first === undefined ? randomInt(2 ** 31) : Number(first);
    first = undefined;
    return seed;
  },
  print: console.log,
});
process.exitCode = hasPassed ? 0 : 1;
