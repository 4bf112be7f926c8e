/**
 * Labs up and down, many times in a row, every shipped topology in turn; each
 * must come up, and leave no namespace, link, process or file behind.
 *
 *   npm run soak -- lab [ROUNDS]
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { shippedTopologies } from '../../src/lab/topologies.ts';
import {
  closeLabs,
  lab,
  labName,
  labsFolder,
  linksHere,
  mustLab,
  openLabs,
  tracesOf,
} from '../lab/lab-program.ts';

const rounds = Number(process.argv[2] ?? 20);
const began = performance.now();
const links = await linksHere();
let left = 0;
let failed = 0;
await openLabs();
try {
  const topologies = shippedTopologies();
  for (let round = 1; round <= rounds; round++) {
    const topology = topologies[(round - 1) % topologies.length]!;
    const apiServer = round % 2 === 1 ? 'real' : 'embedded';
    const name = labName(`r${round}`);
    const start = performance.now();
    const up = await lab(['up', topology, '--name', name, '--api-server', apiServer]);
    if (up.code !== 0) {
      failed++;
      // What there is to see is gone with the lab.
      const { stdout } = await lab(['status', name]);
      console.log(`${round}/${rounds} ${topology} did not come up:\n${up.stderr}${stdout}`);
      cpSync(join(labsFolder, name, 'logs'), join('artefacts/soak-lab', name), { recursive: true });
    }
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
  `${rounds} labs in ${((performance.now() - began) / 1000).toFixed(0)} s, ${failed} did not come up, ${left} traces`,
);
process.exitCode = left + failed === 0 ? 0 : 1;
