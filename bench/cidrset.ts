/**
 * The claim index against Kubernetes' own CidrSet (Go), as kube-controller-manager
 * uses it: 10.0.0.0/8 cut into /24, the same operations in the same order.
 *
 * - fill: allocate all 65,536 blocks.
 * - churn: 99.9 % full; a random node gives its block back and gets another one,
 *   65,536 times.
 * - half: the blocks of the lower half are taken, as a restart finds them; the
 *   first allocation, and its release. CidrSet's cursor starts at zero and tries
 *   every taken block. Once behind them it is fast: `half-on`, printed, not rated.
 *
 * An allocation of ours is `nextFree` and `claim` with the node (its number) as
 * owner, and a release checks it; Go's set keeps no owners. Go's set moves its metrics,
 * as it does in production. A block to release is made from its number on both
 * sides, because an event names a block and does not bring the set's own object.
 *
 * Every round starts from a fresh set. WARM_UP rounds of each of ours (for the
 * JIT compiler) and one of each of Go's are not counted; then the two take turns,
 * so that a busy machine is busy for both, and the medians of all rounds are
 * compared. Brackets hold the fastest and the slowest round.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ensureGo } from '../scripts/go.mjs';
import { ClaimIndex } from '../src/net/claim-index.ts';
import { type Prefix, parsePrefix } from '../src/net/prefix.ts';

const WARM_UP = 8;
const TURNS = 5;
const ROUNDS = 5;
const BLOCKS = 65536;
const FREE_IN_CHURN = 65;
const CHURNS = 65536;
const SETS_IN_HALF = 8;

const pool = parsePrefix('10.0.0.0/8')!;

/** What every node holds. Every allocation ends up in it, so that none can be left out. */
const blockOf = new Uint16Array(BLOCKS);

const blockAt = (number: number): Prefix => pool.subPrefix(24, number);

function allocate(index: ClaimIndex<number>, node: number): void {
  const block = index.nextFree(pool, 24);
  if (block === undefined || index.claim(block, node).kind !== 'claimed') {
    throw new Error('the pool cannot be full');
  }
  blockOf[node] = (block.w0 >>> 8) & 0xffff;
}

function release(index: ClaimIndex<number>, node: number): void {
  const block = blockAt(blockOf[node]!);
  if (!index.release(block, node)) throw new Error(`${block} is not of node ${node}`);
}

/** The same xorshift on both sides: the same nodes leave and come back in the same order. */
function random(seed: number): (below: number) => number {
  let x = seed;
  return (below) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % below;
  };
}

// The timed loops are functions of their own, so that the JIT compiler sees them as such.

function allocateAll(index: ClaimIndex<number>): void {
  for (let node = 0; node < BLOCKS; node++) allocate(index, node);
}

function exchange(index: ClaimIndex<number>, which: Uint32Array): void {
  for (let i = 0; i < which.length; i++) {
    release(index, which[i]!);
    allocate(index, which[i]!);
  }
}

function allocateAndRelease(index: ClaimIndex<number>, from: number, to: number): void {
  for (let node = from; node < to; node++) {
    allocate(index, node);
    release(index, node);
  }
}

function clocked(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function lowerHalfTaken(): ClaimIndex<number> {
  const index = new ClaimIndex<number>();
  for (let number = 0; number < BLOCKS / 2; number++) index.record(blockAt(number), number);
  return index;
}

const measurements: Record<string, () => number> = {
  fill() {
    const index = new ClaimIndex<number>();
    return clocked(() => allocateAll(index));
  },

  churn() {
    const index = new ClaimIndex<number>();
    allocateAll(index);
    const below = random(2463534242 | 0);
    const gone = new Set<number>();
    while (gone.size < FREE_IN_CHURN) {
      const node = below(BLOCKS);
      if (gone.has(node)) continue;
      release(index, node);
      gone.add(node);
    }
    const which = new Uint32Array(CHURNS);
    for (let i = 0; i < CHURNS; ) {
      const node = below(BLOCKS);
      if (!gone.has(node)) which[i++] = node;
    }
    return clocked(() => exchange(index, which));
  },

  half() {
    const indexes = Array.from({ length: SETS_IN_HALF }, lowerHalfTaken);
    return clocked(() => {
      for (const index of indexes) allocateAndRelease(index, BLOCKS / 2, BLOCKS / 2 + 1);
    });
  },

  'half-on'() {
    const index = lowerHalfTaken();
    allocateAndRelease(index, 0, 1);
    return clocked(() => allocateAndRelease(index, BLOCKS / 2, BLOCKS));
  },
};

/** Go's side, built where no checkout is: `go build` itself knows whether it is stale. */
async function buildPeer(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folder = join(cache, 'cadastre', 'bench');
  mkdirSync(folder, { recursive: true });
  const binary = join(folder, 'cidrset-bench');
  console.error('building the peer (k8s.io/kubernetes cidrset) …');
  const go = await ensureGo();
  execFileSync(go.program, ['build', '-o', binary, './cmd/cidrset-bench'], {
    cwd: join(process.cwd(), 'test', 'parts', 'go'),
    env: go.env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return binary;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >>> 1]!;
}

const peer = await buildPeer();
for (const measure of Object.values(measurements)) {
  for (let i = 0; i < WARM_UP; i++) measure();
}
const ratios: string[] = [];
for (const [name, measure] of Object.entries(measurements)) {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const output = execFileSync(peer, [name, String(ROUNDS)], { encoding: 'utf8' });
    theirs.push(
      ...output
        .trim()
        .split('\n')
        .map((nanoseconds) => Number(nanoseconds) / 1e6),
    );
    for (let i = 0; i < ROUNDS; i++) ours.push(measure());
  }
  const ratio = median(ours) / median(theirs);
  const show = (values: number[]) =>
    `${median(values).toFixed(3)} ms (${Math.min(...values).toFixed(3)}–${Math.max(...values).toFixed(3)})`;
  console.log(`${name.padEnd(7)}  ours ${show(ours)}  Go ${show(theirs)}  ${ratio.toFixed(3)}`);
  if (name !== 'half-on') ratios.push(`ratio cidrset-${name} ${ratio.toFixed(3)}`);
}
console.log(ratios.join('\n'));
