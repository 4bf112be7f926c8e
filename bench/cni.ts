/**
 * A pod's ADD and DEL by our plugin and agent, against the reference plugins
 * `ptp` with `host-local`, in turns on the same machine (root, Linux).
 *
 * The agent is the shipped one, in a real cluster, with its journal on the disk.
 * A call is what a runtime does: start the plugin, give it the configuration,
 * read the result, wait for its end; the time to start a process is in both.
 * `ratio cni-add` and `ratio cni-del` are p50 over p50, one call at a time;
 * `ratio cni-add-parallel` is a hundred ADDs at once, until the last has
 * answered. Then 250 pods stay, and `ratio agent-memory-250-to-90mb` is the
 * agent's resident memory, the highest of ten seconds.
 */
import { execFileSync } from 'node:child_process';
import { startApiServer } from '../test/parts/apiserver.ts';
import { startAgent } from './cni/agent-process.ts';
import { drive } from './cni/drive.ts';

const PODS = 250;
const node = `cad-${process.pid}-bench`;
const pods = Array.from({ length: PODS }, (_, index) => `cad-${process.pid}-p${index}`);

const ip = (words: string) => execFileSync('ip', words.split(' '));
const shim = execFileSync(process.execPath, ['scripts/shim.mjs'], { encoding: 'utf8' }).trim();
const api = await startApiServer();
try {
  for (const name of [node, ...pods]) ip(`netns add ${name}`);
  ip(`-n ${node} link set lo up`);
  const agent = await startAgent(api, `/run/netns/${node}`, '10.90.0.0/22');
  try {
    drive({
      netns: `/run/netns/${node}`,
      shim,
      socket: agent.socket,
      folder: api.dir,
      pods: pods.map((name) => `/run/netns/${name}`),
    });
    const megabytes = await agent.highestRssMegabytes(10_000);
    console.log(`the agent with ${PODS} pods: ${megabytes.toFixed(1)} MB resident`);
    console.log(`ratio agent-memory-250-to-90mb ${(megabytes / 90).toFixed(3)}`);
  } finally {
    await agent.stop();
  }
} finally {
  for (const name of [node, ...pods]) {
    try {
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    } catch {
      // It was never made.
    }
  }
  await api.stop();
}
