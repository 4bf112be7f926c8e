/**
 * Beside the real Cilium: agents, operator, cilium-cni and FRR in namespaces of this machine.
 *
 *   npm run soak -- cilium [SCENARIO…]
 *   npm run soak -- cilium --record     the fixtures of test/cilium/recorded
 *
 * Cilium is built once into the cache folder (minutes). A run of all scenarios in which
 * everything was right writes its figures into docs/cilium.md.
 */
import { ciliumVersion, ensureCilium } from '../../scripts/cilium.mjs';
import { ensureDebianPackages } from '../../scripts/debian.mjs';
import { suites } from '../../scripts/suites.mjs';
import { figures } from '../cilium/figures.ts';
import { recordAll } from '../cilium/record-all.ts';
import { scenarios } from '../cilium/scenarios.ts';
import { type Played, Stage } from '../cilium/stage.ts';
import { writeSection } from './conformance-network/write-section.ts';

const start = performance.now();
const say = (words: string) =>
  console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(5)} s  ${words}`);

const args = process.argv.slice(2);
const unknown = args.find(
  (word) => word !== '--record' && !scenarios.some(({ name }) => name === word),
);
if (unknown !== undefined) {
  console.error(
    `soak: there is no scenario "${unknown}"; there are: ${scenarios.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
const packages = suites.find(({ name }) => name === 'cilium')?.needs?.debian ?? [];
const reason = await ensureDebianPackages(packages);
if (reason !== undefined) throw new Error(reason);
const cilium = await ensureCilium();

if (args.includes('--record')) {
  await recordAll(cilium, say);
  process.exit(0);
}
const chosen = scenarios.filter(({ name }) => args.length === 0 || args.includes(name));
const played: Played[] = [];
for (const scenario of chosen) {
  say(`${scenario.name}: ${scenario.what}`);
  played.push(await Stage.play(scenario, cilium, say));
}
const lines = figures(ciliumVersion, scenarios, played);
console.log(lines.join('\n'));
const failures = played.flatMap(({ scenario, failures: all }) =>
  all.map((words) => `${scenario}: ${words}`),
);
for (const words of failures) console.log(`not right: ${words}`);
if (failures.length === 0 && args.length === 0) writeSection('figures', lines, 'docs/cilium.md');
process.exit(failures.length === 0 ? 0 : 1);
