/**
 * Labs up and down, many times in a row, every shipped topology in turn; each
 * must come up, and leave no namespace, link, process or file behind.
 *
 *   npm run soak -- lab [ROUNDS]
 */
import { shippedTopologies } from '../../src/lab/topologies.ts';
import { closeLabs, labName, linksHere, mustLab, openLabs, tracesOf } from '../lab/lab-program.ts';

const rounds = Number(process.argv[2] ?? 20);
const began = performance.now();
const links = await linksHere();
let left = 0;
await openLabs();
try {
  const topologies = shippedTopologies();
  for (let round = 1; round <= rounds; round++) {
    const topology = topologies[(round - 1) % topologies.length]!;
    const apiServer = round % 2 === 1 || topology === 'dual-stack' ? 'real' : 'embedded';
    const name = labName(`r${round}`);
    const start = performance.now();
    await mustLab(['up', topology, '--name', name, '--api-server', apiServer]);
    const upSeconds = (performance.now() - start) / 1000;
    await mustLab(['down', name]);
    const traces = [
      ...tracesOf(name),
      ...(await linksHere()).filter((one) => !links.includes(one)),
    ];
    left += traces.length;
    console.log(
      `${round}/${rounds} ${topology} (${apiServer}): up in ${upSeconds.toFixed(1)} s, left behind: ${traces.join(', ') || 'nothing'}`,
    );
  }
} finally {
  await closeLabs();
}
console.log(
  `${rounds} labs in ${((performance.now() - began) / 1000).toFixed(0)} s, ${left} traces`,
);
process.exitCode = left === 0 ? 0 : 1;
