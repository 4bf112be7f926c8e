/**
 * What the operator's continuous comparison costs: one pass of the doctor's
 * judgement over what the operator has in memory, which holds the event loop for
 * as long as it takes. Nodes with a block, an agent's report, two sessions and the
 * annotations that the operator writes. CPU time; the medians of ROUNDS passes.
 *
 * ratio pass-5000: milliseconds of a pass over 5,000 nodes, to 250.
 * ratio growth: a pass over 10,000 nodes to one over 1,000.
 */
import { stateOfObjects } from '../src/model/cluster-state.ts';
import { apiVersion } from '../src/model/keys.ts';
import { blockName } from '../src/model/node-block.ts';
import type { KubeObject } from '../src/model/object.ts';
import { parsePrefix } from '../src/net/prefix.ts';
import { type Evidence, evidenceOf } from '../src/plan/doctor/evidence.ts';
import { judge, judgeInSteps } from '../src/plan/doctor/judge.ts';
import { survey } from '../src/plan/doctor/survey.ts';

const ROUNDS = 9;

/** Of this process, so that others on the machine do not count. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const range = parsePrefix('10.0.0.0/8')!;

function siteEvidence(count: number): Evidence {
  const pool: KubeObject = {
    apiVersion,
    kind: 'IPPool',
    metadata: { name: 'all', uid: 'p' },
    spec: { cidrs: ['10.0.0.0/8'], blockSize: { ipv4: 24 } },
  };
  const objects = Array.from({ length: count }, (_, at) => siteOf(at)).flat();
  return evidenceOf(stateOfObjects([pool, ...objects], { mode: 'ip-pool' }), { nowMs: 0 });
}

function siteOf(at: number): KubeObject[] {
  const name = `node-${at}`;
  const uid = `uid-${at}`;
  const prefix = range.subPrefix(24, at);
  const cidr = prefix.toString();
  const address = `172.16.${at >> 8}.${at & 255}`;
  const session = (peer: string) => ({
    peer,
    address: '172.31.0.1',
    asn: 64512,
    state: 'Established',
    announced: [{ prefix: cidr, nextHop: address }],
  });
  return [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        uid,
        labels: { rack: `${at % 40}` },
        annotations: { 'network.cilium.io/ipv4-pod-cidr': cidr },
      },
      status: { addresses: [{ type: 'InternalIP', address }] },
    },
    {
      apiVersion,
      kind: 'NodeBlock',
      metadata: { name: blockName(prefix), uid: `b-${at}` },
      spec: { cidr, pool: 'all', node: { name, uid } },
    },
    {
      apiVersion,
      kind: 'NodeReport',
      metadata: { name },
      spec: { nodeUID: uid },
      status: {
        blocks: [{ cidr, pool: 'all', pods: 30 }],
        kernel: { ownRoutes: [cidr] },
        sessions: [session('tor1'), session('tor2')],
      },
    },
  ];
}

/** The longest time without a pause, in a pass as the operator makes it. */
function longestHoldMs(count: number): number {
  const evidence = siteEvidence(count);
  let longest = 0;
  const holds: number[] = [];
  for (let round = 0; round < ROUNDS + 2; round++) {
    let startMs = cpuMs();
    longest = 0;
    const lap = () => {
      longest = Math.max(longest, cpuMs() - startMs);
      startMs = cpuMs();
    };
    const steps = judgeInSteps(survey(evidence));
    lap();
    while (!steps.next().done) lap();
    if (round >= 2) holds.push(longest);
  }
  return holds.sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
}

function medianPassMs(count: number): number {
  const evidence = siteEvidence(count);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS + 2; round++) {
    const startMs = cpuMs();
    const { length } = judge(evidence);
    if (round >= 2) times.push(cpuMs() - startMs);
    if (length > 0) throw new Error(`a clean site has ${length} findings`);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
}

const passes = new Map([1_000, 5_000, 10_000].map((count) => [count, medianPassMs(count)]));
for (const [count, ms] of passes) console.log(`${count} nodes: ${ms.toFixed(1)} ms a pass`);
const holdMs = longestHoldMs(5_000);
console.log(`5000 nodes: at most ${holdMs.toFixed(1)} ms without a pause`);
console.log(`ratio pass-5000 ${((passes.get(5_000) ?? 0) / 250).toFixed(2)}`);
console.log(`ratio growth ${((passes.get(10_000) ?? 0) / (passes.get(1_000) ?? 1)).toFixed(2)}`);
