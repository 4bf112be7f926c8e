/**
 * How long a change takes to reach the wire. 1,000 prefixes are announced to four
 * peers; a fifth gets 100,000 and asks for all of them again without a pause, so
 * that there is always a full table on its way. One announcement changes at a
 * time; measured is from `speaker.set` to the octets at each of the four.
 *
 *   npm run bench -- react [CHANGES]
 */
import { fork } from 'node:child_process';
import type { Announcement } from '../src/bgp/rib/announcement.ts';
import { Speaker } from '../src/bgp/speaker/speaker.ts';
import {
  type Arrival,
  peerAsn,
  refreshingAddress,
  runListeners,
  watcherAddresses,
} from './react/listeners.ts';

const fullTable = 100_000;
const prefixAt = (i: number) => `${20 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`;

async function main(changes: number): Promise<void> {
  const speaker = new Speaker({ listen: { address: '127.0.0.1', port: 0 } });
  await speaker.listen();
  const port = speaker.port!;
  speaker.setPeers(
    [...watcherAddresses, refreshingAddress].map((address) => ({
      address,
      asn: peerAsn,
      localAsn: 64513,
      routerId: '10.0.0.1',
      isPassive: true,
      families: ['ipv4' as const],
    })),
  );
  const announcements: Announcement[] = [
    ...Array.from({ length: 1000 }, (_, i) => ({ prefix: prefixAt(i), peers: watcherAddresses })),
    ...Array.from({ length: fullTable }, (_, i) => ({
      prefix: prefixAt(1000 + i),
      peers: [refreshingAddress],
    })),
  ];
  speaker.set(announcements);

  let tables = 0;
  const ready = new Set<string>();
  const waiting = new Map<number, { startNs: bigint; left: number; done: () => void }>();
  const latenciesMs: number[] = [];
  const child = fork(process.argv[1]!, [
    'as-listeners',
    JSON.stringify({ port, routes: fullTable }),
  ]);
  child.on('message', (report: Partial<Arrival> & { ready?: string; tables?: number }) => {
    if (report.ready !== undefined) ready.add(report.ready);
    if (report.tables !== undefined) tables = report.tables;
    const change = report.med === undefined ? undefined : waiting.get(report.med);
    if (change === undefined || report.atNs === undefined) return;
    latenciesMs.push(Number(BigInt(report.atNs) - change.startNs) / 1e6);
    if (--change.left === 0) change.done();
  });
  while (ready.size < watcherAddresses.length || tables === 0) await sleep(10);

  const tablesBefore = tables;
  for (let change = 1; change <= changes; change++) {
    const at = change % 1000;
    const changed = { prefix: prefixAt(at), peers: watcherAddresses, med: change };
    announcements[at] = changed;
    await new Promise<void>((done) => {
      waiting.set(change, {
        startNs: process.hrtime.bigint(),
        left: watcherAddresses.length,
        done,
      });
      speaker.set(announcements);
    });
    waiting.delete(change);
    // Off the beat of the table, so that every moment of it is met.
    await sleep(Math.random() * 5);
  }
  child.kill();
  const sorted = latenciesMs.sort((a, b) => a - b);
  const quantile = (q: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
  console.log(
    `${changes} changes, ${sorted.length} arrivals, ${tables - tablesBefore} full tables meanwhile`,
  );
  console.log(
    `p50 ${quantile(0.5).toFixed(2)} ms, p99 ${quantile(0.99).toFixed(2)} ms, max ${sorted.at(-1)?.toFixed(2)} ms`,
  );
  if (tables - tablesBefore < 3) throw new Error('the fifth peer was not kept busy');
  console.log(`ratio react-p99-ms ${quantile(0.99).toFixed(2)}`);
  await speaker.close('restart');
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const [role, args = '{}'] = process.argv.slice(2);
if (role === 'as-listeners') runListeners(JSON.parse(args));
else await main(Number(role ?? 2000));
