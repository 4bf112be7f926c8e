/**
 * One million distinct /24 in UPDATEs of 1,000 into an Adj-RIB-In: ours, and
 * those of BIRD, FRR, GoBGP and ExaBGP, all fed by the same sender over a veth
 * between two network namespaces. Time runs from the first UPDATE written to
 * the moment the receiver's own account says one million; memory is the peak of
 * the receiver's processes.
 *
 *   npm run bench -- receive [ROUTES] [RECEIVER…]
 */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually, type Link, makeLink, spawnIn, sweepDeadRuns } from '../test/interop/link.ts';
import { type BlasterArgs, runBlaster } from './receive/blaster.ts';
import { ours, runOurs } from './receive/ours.ts';
import {
  cpuSeconds,
  peakMemoryMb,
  type Receiver,
  type RunningReceiver,
} from './receive/receiver.ts';
import { bird, exabgp, frr, gobgp } from './receive/routers.ts';

interface Result {
  readonly seconds: number;
  readonly megabytes: number;
}

const giveUpMs = 180_000;

async function measure(receiver: Receiver, routes: number): Promise<Result> {
  const link = await makeLink();
  const folder = mkdtempSync(join(tmpdir(), `cad-receive-${receiver.name}-`));
  let isOver = false;
  try {
    const running = receiver.start(link, folder);
    const gone = new Promise<never>((_, reject) => {
      running.child.once('exit', (code) => {
        if (isOver) return;
        const log = readFileSync(join(folder, 'log'), 'utf8').slice(-2000);
        reject(new Error(`${receiver.name} ended with ${code}: ${log}`));
      });
    });
    gone.catch(() => undefined);
    await Promise.race([
      eventually(`${receiver.name} answers`, async () => (await running.count()) >= 0),
      gone,
    ]);
    const args: BlasterArgs = {
      host: link.their4,
      localAddress: link.our4,
      routes,
      routesPerUpdate: 1000,
    };
    const blaster = spawnIn(
      link.ours,
      process.execPath,
      [process.argv[1]!, 'as-blaster', JSON.stringify(args)],
      { logFd: openSync(join(folder, 'blaster'), 'a'), ipc: true },
    );
    const started = new Promise<number>((resolve) => {
      blaster.once('message', (report: { startedAtMs: number }) => resolve(report.startedAtMs));
    });
    const startedAtMs = await Promise.race([started, gone]);
    const finishedAtMs = await Promise.race([finished(running, link, routes), gone]);
    return {
      seconds: (finishedAtMs - startedAtMs) / 1000,
      megabytes: peakMemoryMb(link.theirs),
    };
  } finally {
    isOver = true;
    await link.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** When the receiver's own account has reached all routes. */
async function finished(running: RunningReceiver, link: Link, routes: number): Promise<number> {
  const giveUpAtMs = Date.now() + giveUpMs;
  for (;;) {
    const idleSinceMs = running.askWhenIdle ? await idleSince(link) : undefined;
    const held = await running.count();
    const now = Date.now();
    if (held >= routes) return idleSinceMs ?? now;
    if (now > giveUpAtMs) throw new Error(`stopped at ${held} routes`);
    await pause(running.askEveryMs);
  }
}

/** Waits until the receiver has used no processor for a second; says when that second began. */
async function idleSince(link: Link): Promise<number> {
  let busy = cpuSeconds(link.theirs);
  let sinceMs = Date.now();
  while (Date.now() - sinceMs < 1000) {
    await pause(50);
    const now = cpuSeconds(link.theirs);
    if (now - busy >= 0.02) {
      busy = now;
      sinceMs = Date.now();
    }
  }
  return sinceMs;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Fresh processes each round; the median time, and the largest memory. */
async function median(receiver: Receiver, routes: number): Promise<Result> {
  const results: Result[] = [];
  for (let round = 0; round < receiver.rounds; round++)
    results.push(await measure(receiver, routes));
  const seconds = results.map((result) => result.seconds).sort((a, b) => a - b);
  return {
    seconds: seconds[seconds.length >> 1]!,
    megabytes: Math.max(...results.map((result) => result.megabytes)),
  };
}

/** Why a receiver cannot be had here; what Debian can bring is brought. */
async function missing({ debianPackage }: Receiver): Promise<string | undefined> {
  if (debianPackage === undefined) return undefined;
  // From the checkout: a bundled program lies elsewhere than this file.
  const { ensureDebianPackages } = (await import(
    pathToFileURL(resolve('scripts/debian.mjs')).href
  )) as { ensureDebianPackages(packages: string[]): Promise<string | undefined> };
  return ensureDebianPackages([debianPackage]);
}

async function main(): Promise<void> {
  const routes = Number(process.argv[2] ?? 1_000_000);
  const wanted = process.argv.slice(3);
  const all = [ours, bird, gobgp, frr, exabgp];
  const chosen = wanted.length === 0 ? all : all.filter((one) => wanted.includes(one.name));
  await sweepDeadRuns();
  const results = new Map<string, Result>();
  for (const receiver of chosen) {
    const want = await missing(receiver);
    if (want !== undefined) {
      console.log(`${receiver.name}: not measured: ${want}`);
      process.exitCode = 1;
      continue;
    }
    try {
      const result = await median(receiver, routes);
      results.set(receiver.name, result);
      const { seconds, megabytes } = result;
      console.log(
        `${receiver.name}: ${routes} routes in ${seconds.toFixed(2)} s, ${megabytes.toFixed(0)} MB`,
      );
    } catch (error) {
      // One router that fails must not cost the figures of the others.
      console.log(`${receiver.name}: failed: ${(error as Error).message}`);
      process.exitCode = 1;
    }
  }
  const mine = results.get('ours');
  if (mine === undefined) return;
  console.log(`memory receive-ours ${mine.megabytes.toFixed(0)} MB`);
  for (const [name, { seconds }] of results) {
    if (name !== 'ours')
      console.log(`ratio receive-${name} ${(mine.seconds / seconds).toFixed(3)}`);
  }
}

const [role, args] = process.argv.slice(2);
if (role === 'as-blaster') runBlaster(JSON.parse(args!) as BlasterArgs);
else if (role === 'as-ours') await runOurs(JSON.parse(args!) as Parameters<typeof runOurs>[0]);
else await main();
