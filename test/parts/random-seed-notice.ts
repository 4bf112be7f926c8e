/** Runs once, before all tests. */
import { factor, seed } from './random.ts';

export default function printSeed(): void {
  const times = factor === 1 ? '' : `, ${factor} times the usual runs (FC_FACTOR)`;
  process.stderr.write(`random tests: seed ${seed} (FC_SEED)${times}\n`);
}
