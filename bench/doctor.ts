/**
 * The doctor on a large site, from files: 5,000 dual-stack nodes of plain Cilium
 * and four routers, one of each kind, each with all 10,000 routes. A tenth of the
 * IPv6 routes enters at the wrong node, so that findings have to be made as well.
 *
 * - all: the command as typed, from start to exit, JSON printed. Limit 1.5 s.
 * - judged: survey and judgement in one process, everything read. Limit 1 s.
 * - drains: what if each single node of them is drained, one after the other, on
 *   one survey. Limit 5 s together.
 * - growth: the command on 10,000 nodes by the command on 1,000. Limit 12. Of the
 *   fastest round of each: a neighbour's noise falls on one of them, not on both.
 *   The judgement alone is printed too, not rated: warmed up, that of 1,000 nodes
 *   fits into the processor's cache, and that of 10,000 waits for memory.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { gatherEvidence } from '../src/cli/doctor/doctor-flags.ts';
import type { Evidence } from '../src/plan/doctor/evidence.ts';
import { judge, judgeSurvey } from '../src/plan/doctor/judge.ts';
import { survey } from '../src/plan/doctor/survey.ts';
import { whatIfSurveyed } from '../src/plan/doctor/what-if.ts';
import { type SiteFiles, writeSite } from './doctor/site.ts';

const NODES = 5_000;
const ROUNDS = 5;

const folder = mkdtempSync(join(tmpdir(), 'cad-bench-doctor-'));

function flagsOf({ objects, ribs }: SiteFiles): string[] {
  return [
    ...objects.flatMap((file) => ['--from', file]),
    ...ribs.flatMap(([router, file]) => ['--rib', `${router}=${file}`]),
  ];
}

async function evidenceOf(files: SiteFiles): Promise<Evidence> {
  const terminal = {
    write: () => {},
    say: () => {},
    readStdin: async () => new Uint8Array(),
    env: {},
    clock: { wallMs: () => Date.now(), monotonicMs: () => performance.now() },
    columns: 100,
    exitCode: 0,
  };
  const rib = files.ribs.map(([router, path]) => ({ router, path }));
  return gatherEvidence(
    {
      from: files.objects,
      rib,
      output: 'json',
      ciliumNamespace: 'kube-system',
      listenSeconds: '1',
    },
    terminal,
  );
}

/** The command as one types it; how many findings it has. */
function runDoctor(files: SiteFiles): number {
  const argv = ['dist/cadastre.mjs', 'doctor', ...flagsOf(files), '-o', 'json'];
  const child = spawnSync(process.execPath, argv, { maxBuffer: 1 << 30, encoding: 'utf8' });
  if (child.status !== 1) throw new Error(`doctor: exit ${child.status}: ${child.stderr}`);
  return JSON.parse(child.stdout).findings.length;
}

function timed(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >>> 1]!;
const show = (values: number[]) =>
  `${median(values).toFixed(0)} ms (${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)})`;

try {
  const files = writeSite(folder, NODES);
  console.log(
    `${NODES} nodes, ${files.ribs.length} dumps of 4 routers, ${(files.bytes / 1e6).toFixed(0)} MB`,
  );
  execFileSync(process.execPath, ['bin/cadastre', '--version']);
  let findings = 0;
  const all = Array.from({ length: ROUNDS }, () =>
    timed(() => {
      findings = runDoctor(files);
    }),
  );
  const evidence = await evidenceOf(files);
  const judged = Array.from({ length: ROUNDS }, () => timed(() => judge(evidence)));
  const surveyed = survey(evidence);
  if (judgeSurvey(surveyed).length !== findings) throw new Error('not the same findings');
  const names = [...surveyed.nodes.keys()];
  const drains = Array.from({ length: ROUNDS }, () =>
    timed(() => {
      let unsafe = 0;
      const fresh = survey(evidence);
      for (const name of names) {
        const answer = whatIfSurveyed(fresh, { kind: 'drain', nodes: [name] });
        if (answer.kind === 'answer' && !answer.whatIf.safe) unsafe++;
      }
      if (unsafe !== NODES / 10) throw new Error(`${unsafe} unsafe drains`);
    }),
  );
  const whole: Record<number, number> = {};
  const alone: Record<number, number> = {};
  for (const count of [1_000, 10_000]) {
    const site = writeSite(folder, count);
    const fastest = (run: () => unknown) =>
      Math.min(...Array.from({ length: ROUNDS }, () => timed(run)));
    whole[count] = fastest(() => runDoctor(site));
    const some = await evidenceOf(site);
    alone[count] = fastest(() => judge(some));
  }
  const growth = whole[10_000]! / whole[1_000]!;
  console.log(`${findings} findings`);
  console.log(`all      ${show(all)}`);
  console.log(`judged   ${show(judged)}`);
  console.log(`drains   ${show(drains)}`);
  for (const [what, of] of [
    ['growth', whole],
    ['judged', alone],
  ] as const) {
    const [small = 0, large = 0] = [of[1_000], of[10_000]];
    console.log(
      `${what}   ${small.toFixed(0)} ms for 1,000 nodes, ${large.toFixed(0)} ms for 10,000`,
    );
  }
  console.log(`ratio doctor-all-to-1500ms ${(median(all) / 1500).toFixed(3)}`);
  console.log(`ratio doctor-judged-to-1000ms ${(median(judged) / 1000).toFixed(3)}`);
  console.log(`ratio doctor-drains-to-5000ms ${(median(drains) / 5000).toFixed(3)}`);
  console.log(`ratio doctor-growth-to-12 ${(growth / 12).toFixed(3)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
