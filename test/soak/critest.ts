/**
 * The network tests of critest, the judge of container runtimes, against the
 * containerd 1.x and 2.x of a lab cluster whose network is Cadastre:
 *
 *   npm run soak -- critest
 *
 * Tests that do not pass are in critest/expectations.json, each with its reason, as
 * in conformance-network. The figures go to docs/conformance.md.
 */
import { readFileSync } from 'node:fs';
import { ensureCritest } from '../../scripts/parts.mjs';
import { containerdSocket } from '../../src/lab/kubelets/node-programs.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { shellImage, webServerImage } from './conformance-network/images.ts';
import { startNetwork } from './conformance-network/network-under-test.ts';
import { writeSection } from './conformance-network/write-section.ts';
import expectations from './critest/expectations.json' with { type: 'json' };
import { specsOf, surprises } from './e2e/specs.ts';

const start = performance.now();
const say = (words: string) =>
  console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(5)} s  ${words}`);

/** All that have the network in them. */
const focus = 'Networking|HostNetwork|portforward|should support network';
const program = await ensureCritest();
const version = /cri-tools (v\S+)/.exec(readFileSync('test/parts/critest/go.mod', 'utf8'))?.[1];

async function runOn(cluster: Cluster, node: string) {
  // Kubelet would end pods that it does not know.
  await cluster.stopProgram(node, 'kubelet');
  const images = `defaultTestContainerImage: ${shellImage}\nwebServerTestImage: ${webServerImage}\n`;
  await cluster.exec(node, ['sh', '-c', 'cat > /run/images.yaml'], images);
  const { stdout, stderr } = await cluster.exec(node, [
    program,
    `--runtime-endpoint=unix://${containerdSocket}`,
    '--test-images-file=/run/images.yaml',
    `--ginkgo.focus=${focus}`,
    '--ginkgo.no-color',
    '--ginkgo.json-report=/run/critest.json',
  ]);
  const report = await cluster.exec(node, ['cat', '/run/critest.json']);
  if (report.code !== 0) throw new Error(`critest on ${node}: ${stdout.slice(-2000)}${stderr}`);
  return specsOf(report.stdout).filter(
    ({ name, state }) => new RegExp(focus).test(name) && state !== 'pending',
  );
}

const { cluster, containerds, kubernetes } = await startNetwork(say, { dns: false });
const lines: string[] = [];
let isRight = true;
try {
  for (const node of [cluster.nodes[0]!, cluster.nodes[1]!]) {
    const containerd = containerds[cluster.nodes.indexOf(node)]!;
    const specs = await runOn(cluster, node);
    for (const { name, state, seconds } of specs) {
      console.log(`${state.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${name}`);
    }
    const wrong = surprises(specs, expectations);
    for (const words of wrong) console.log(`unexpected: ${words}`);
    isRight &&= wrong.length === 0 && specs.length > 0;
    const passed = specs.filter(({ state }) => state === 'passed').length;
    say(`containerd ${containerd}: ${passed} of ${specs.length} passed`);
    lines.push(`| ${containerd} | **${passed} of ${specs.length}** |`);
  }
} finally {
  await cluster.close();
}
if (isRight) {
  const date = new Date().toISOString().slice(0, 10);
  const others = Object.entries(expectations as Record<string, string>);
  writeSection('critest', [
    `cri-tools ${version}, Kubernetes ${kubernetes}, ${date}; tests that match \`${focus}\`:`,
    '',
    '| containerd | passed |',
    '| --- | --- |',
    ...lines,
    ...(others.length === 0 ? [] : ['', 'Not passed:', '']),
    ...others.map(([name, why]) => `- ${name}: ${why}`),
  ]);
}
process.exit(isRight ? 0 : 1);
