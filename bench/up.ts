/**
 * `cadastre up --nodes 500`: how long until everything is there, how much memory
 * it takes, and how much of a core when nothing happens.
 *
 *   ratio up-memory   the largest resident size over 1 GB
 *   ratio up-idle     CPU while idle over 5 % of a core
 *   ratio up-start    a start on a folder that is set up (4 nodes) to /readyz, over 5 s
 */
import { readFileSync } from 'node:fs';
import { startUp } from '../test/up/up-process.ts';

const nodes = Number(process.argv[2] ?? 500);
const idleSeconds = Number(process.argv[3] ?? 60);
const gigabyte = 1e9;

const small = await startUp();
await small.restart();
const startSeconds = small.readyAfterMs / 1000;
await small.stop();
console.log(`4 nodes, set up: ready after ${startSeconds.toFixed(2)} s`);

const up = await startUp(['--nodes', String(nodes)]);
try {
  const { pid } = up.part;
  console.log(`${nodes} nodes: ready after ${(up.readyAfterMs / 1000).toFixed(1)} s`);
  await untilCalm(pid);
  const before = cpuSeconds(pid);
  await pause(idleSeconds);
  const share = (cpuSeconds(pid) - before) / idleSeconds;
  const peak = peakBytes(pid);
  console.log(`idle for ${idleSeconds} s: ${(100 * share).toFixed(1)} % of a core`);
  console.log(`memory: ${(peak / 1e6).toFixed(0)} MB at most`);
  console.log(`ratio up-memory ${(peak / gigabyte).toFixed(3)}`);
  console.log(`ratio up-idle ${(share / 0.05).toFixed(3)}`);
  console.log(`ratio up-start ${(startSeconds / 5).toFixed(3)}`);
} finally {
  await up.stop();
}

/** The first pods are being added for a while: until ten seconds cost less than a fifth of a core. */
async function untilCalm(pid: number): Promise<void> {
  for (let round = 0; round < 60; round++) {
    const before = cpuSeconds(pid);
    await pause(10);
    if (cpuSeconds(pid) - before < 2) return;
  }
  console.log('it did not calm down within ten minutes');
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  // utime and stime, in hundredths (USER_HZ).
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function peakBytes(pid: number): number {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
