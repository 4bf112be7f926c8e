/**
 * Kubernetes' own tests of a cluster's network, against Cadastre on three kubelets:
 *
 *   npm run soak -- conformance-network [--only REGULAR-EXPRESSION] [--at-once 2] [--keep]
 *
 * Which tests run is in conformance-network/groups.json; those that do not pass are
 * in conformance-network/expectations.json, each with its reason. Anything else that
 * does not pass fails the run, and so does an expected failure that passes. A whole
 * run writes its figures to docs/conformance.md; with --only just the tests that
 * match run, and nothing is written. With --keep a cluster stays up after tests
 * failed, to be looked at, until Enter is pressed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import expectations from './conformance-network/expectations.json' with { type: 'json' };
import { networkFigures } from './conformance-network/figures.ts';
import groups from './conformance-network/groups.json' with { type: 'json' };
import { spreadOverNodes, startNetwork } from './conformance-network/network-under-test.ts';
import { runTests } from './conformance-network/run-tests.ts';
import { writeSection } from './conformance-network/write-section.ts';
import { listTests } from './e2e/run-e2e.ts';
import { isChosen, type Spec, surprises } from './e2e/specs.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    keep: { type: 'boolean', default: false },
  },
});
const start = performance.now();
const say = (words: string) =>
  console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(5)} s  ${words}`);
const folder = mkdtempSync(join(tmpdir(), 'cadastre-conformance-'));

const listed = await listTests(join(folder, 'list-'), '\\[sig-network\\]');
const taken = new Set<string>();
const chosen = groups.map((group) => {
  const tests = listed.filter((name) => isChosen(group, name) && !taken.has(name));
  for (const name of tests) taken.add(name);
  return { ...group, tests };
});
for (const { title, tests } of chosen) say(`${title}: ${tests.length} tests`);

const wanted = [...taken].filter((name) => new RegExp(values.only ?? '').test(name));
const { cluster, outside, outsideKubeconfig, kubernetes, containerds } = await startNetwork(say, {
  dns: true,
});
const specs: Spec[] = [];
let wrong: string[];
try {
  const run = { kubeconfig: outsideKubeconfig, inside: outside, folder };
  for (const what of ['connections', 'clients'] as const) {
    const names = chosen
      .filter(({ routerSpreads }) => routerSpreads === what)
      .flatMap(({ tests }) => tests.filter((name) => wanted.includes(name)));
    if (names.length === 0) continue;
    await spreadOverNodes(cluster, what);
    specs.push(...(await runTests(run, names, Number(values['at-once']))));
  }
  for (const { name, state, seconds } of specs) {
    console.log(`${state.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${name}`);
  }
  const expected = Object.fromEntries(
    Object.entries(expectations as Record<string, string>).filter(([name]) =>
      values.only === undefined ? true : wanted.includes(name),
    ),
  );
  wrong = surprises(specs, expected);
  for (const words of wrong) console.log(`unexpected: ${words}`);
  if (wrong.length > 0 && values.keep) {
    console.log(
      `the cluster ${cluster.name} stays: KUBECONFIG=${cluster.kubeconfig} (Enter ends it)`,
    );
    await new Promise((resolve) => process.stdin.once('data', resolve));
  }
} finally {
  await cluster.close();
}

const passed = specs.filter(({ state }) => state === 'passed').length;
say(`${passed} of ${wanted.length} tests passed`);
const isRight = wrong.length === 0 && specs.length === wanted.length && specs.length > 0;
if (isRight && values.only === undefined) {
  const date = new Date().toISOString().slice(0, 10);
  const run = { date, kubernetes, containerds, groups: chosen, specs, expectations };
  writeSection('conformance-network', networkFigures(run));
}
if (isRight) rmSync(folder, { recursive: true, force: true });
else console.log(`the logs of the tests: ${folder}`);
process.exit(isRight ? 0 : 1);
