/**
 * The agent's socket: durable allocations, as many a second as 64 clients in
 * flight get, over HTTP on a Unix socket, with the journal on a real disk.
 *
 * The clients are a process of their own, as pods' runtimes are. Every answer
 * that counts is a 201, so it was written and synced before it was sent.
 * Five rounds, and the median of each figure counts: a neighbour on the disk is
 * no part of it. `ratio socket-5000-per-second` is the rate asked for over the rate had, and
 * `ratio socket-p99-to-20ms` the 99th percentile over 20 ms: at most 1 is fine.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AddressService } from '../src/agent/address-service.ts';
import { systemClock } from '../src/base/clock.ts';
import { FakeKernel } from '../src/kernel/fake-kernel.ts';
import { parsePrefix } from '../src/net/prefix.ts';

const IN_FLIGHT = 64;
const WARM_UP = 4_000;
const ROUNDS = 5;
const COUNTED = 5_000;

const clientOf = process.env.CADASTRE_BENCH_SOCKET;
if (clientOf === undefined) await serve();
else await drive(clientOf);

async function serve(): Promise<void> {
  const folder = mkdtempSync(join(process.env.CADASTRE_BENCH_DIR ?? tmpdir(), 'socket-bench-'));
  try {
    const socketPath = join(folder, 'agent.sock');
    const addresses = await AddressService.start({
      stateFolder: folder,
      socketPath,
      driver: new FakeKernel(),
      blocks: [{ prefix: parsePrefix('10.0.0.0/16')!, isDraining: false }],
      clock: systemClock,
      version: 'bench',
    });
    const child = fork(fileURLToPath(import.meta.url), {
      env: { ...process.env, CADASTRE_BENCH_SOCKET: socketPath },
    });
    const code = await new Promise((resolve) => child.on('exit', resolve));
    if (code !== 0) throw new Error(`the clients failed (exit ${code})`);
    const { user, system } = process.cpuUsage();
    const each = (user + system) / 1000 / (WARM_UP + ROUNDS * COUNTED);
    console.log(`the agent's side used ${each.toFixed(3)} ms of a core for each`);
    const { length } = await addresses.book.list();
    if (length !== WARM_UP + ROUNDS * COUNTED) throw new Error(`${length} allocations are on disk`);
    await addresses.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function drive(socketPath: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const allocate = (owner: string) =>
    new Promise<number>((resolve, reject) => {
      const start = performance.now();
      const body = JSON.stringify({ owner, families: ['ipv4'], expirySeconds: 600 });
      const headers = { 'content-length': Buffer.byteLength(body) };
      request({ socketPath, agent, method: 'POST', path: '/v1/addresses', headers }, (incoming) => {
        incoming.resume();
        incoming.on('end', () => {
          if (incoming.statusCode === 201) resolve(performance.now() - start);
          else reject(new Error(`answered ${incoming.statusCode}`));
        });
      })
        .on('error', reject)
        .end(body);
    });

  const round = async (label: string, count: number): Promise<number[]> => {
    const times: number[] = [];
    let next = 0;
    const client = async () => {
      while (next < count) times.push(await allocate(`${label}-${next++}`));
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, client));
    return times;
  };

  await round('warm', WARM_UP);
  const rates: number[] = [];
  const halves: number[] = [];
  const tails: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now();
    const times = (await round(`round-${i}`, COUNTED)).sort((a, b) => a - b);
    rates.push(COUNTED / ((performance.now() - start) / 1000));
    halves.push(times[times.length >>> 1]!);
    tails.push(times[Math.floor(times.length * 0.99)]!);
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >>> 1]!;
  const [perSecond, p50, p99] = [median(rates), median(halves), median(tails)];
  console.log(
    `${Math.round(perSecond)} durable allocations a second, ${IN_FLIGHT} in flight: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  );
  console.log(`ratio socket-5000-per-second ${(5000 / perSecond).toFixed(3)}`);
  console.log(`ratio socket-p99-to-20ms ${(p99 / 20).toFixed(3)}`);
  agent.destroy();
}
