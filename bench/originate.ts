/**
 * 100,000 distinct /24 from the start of a session to the last one counted, by
 * one and the same plain TCP sink over a veth: ours, GoBGP, ExaBGP, FRR, BIRD.
 * Everybody has the routes before the sink connects. Median of three sessions.
 *
 *   npm run bench -- originate [ROUTES] [NAME…]
 */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, makeLink, spawnIn, sweepDeadRuns } from '../test/interop/link.ts';
import { type Originator, sinkAddress } from './originate/originator.ts';
import { ours, runFeeder, runOurs } from './originate/ours.ts';
import { bird, exabgp, frr, gobgp } from './originate/routers.ts';
import { runSink, type SinkArgs, type SinkReport } from './originate/sink.ts';

const rounds = 3;

async function measure(originator: Originator, routes: number): Promise<SinkReport> {
  const link = await makeLink();
  const folder = mkdtempSync(join(tmpdir(), `cad-originate-${originator.name}-`));
  const logFd = openSync(join(folder, 'log'), 'a');
  const self = (role: string, args: object, ipc: boolean) =>
    spawnIn(link.ours, process.execPath, [process.argv[1]!, role, JSON.stringify(args)], {
      logFd,
      ipc,
    });
  try {
    await link.inOurs('ip', 'addr', 'add', `${sinkAddress}/24`, 'dev', 'cad-up');
    const running = await originator.start(link, folder, routes);
    if (originator.isFed)
      self('as-feeder', { local: link.our4, remote: link.their4, routes }, false);
    const isFull = (count: number) => count >= routes;
    await eventually(`${originator.name} has its routes`, () => running.count(), isFull, 120_000);
    const reports: SinkReport[] = [];
    for (let round = 0; round < rounds; round++) {
      const args: SinkArgs = { host: link.their4, localAddress: sinkAddress, routes };
      const sink = self('as-sink', args, true);
      reports.push(
        await new Promise<SinkReport>((resolve, reject) => {
          sink.once('message', (report) => resolve(report as SinkReport));
          sink.once('exit', () =>
            reject(new Error(`the sink ended\n${readFileSync(join(folder, 'log'))}`)),
          );
        }),
      );
      sink.kill('SIGKILL');
    }
    return reports.sort((a, b) => a.seconds - b.seconds)[Math.floor(rounds / 2)]!;
  } finally {
    await link.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  await sweepDeadRuns();
  const [first, ...rest] = process.argv.slice(2);
  const routes = Number(first ?? 100_000);
  const all = [ours, gobgp, exabgp, frr, bird];
  const chosen = rest.length === 0 ? all : all.filter((one) => rest.includes(one.name));
  const seconds = new Map<string, number>();
  for (const originator of chosen) {
    const report = await measure(originator, routes);
    seconds.set(originator.name, report.seconds);
    console.log(
      `${originator.name.padEnd(8)} ${report.seconds.toFixed(3)} s for ${routes} routes` +
        ` (99 % after ${report.mostSeconds.toFixed(3)} s) in ${report.updates} updates`,
    );
  }
  const mine = seconds.get('ours');
  for (const [name, theirs] of seconds) {
    if (name === 'ours' || mine === undefined) continue;
    console.log(`ratio originate-${name} ${(mine / theirs).toFixed(3)}`);
  }
}

const [role, args = '{}'] = process.argv.slice(2);
if (role === 'as-ours') await runOurs(JSON.parse(args));
else if (role === 'as-feeder') await runFeeder(JSON.parse(args));
else if (role === 'as-sink') process.send?.(await runSink(JSON.parse(args)));
else await main();
