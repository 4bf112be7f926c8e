/**
 * The doctor on a large site, from files: 5,000 dual-stack nodes of plain Cilium
 * and four routers, one of each kind, each with all 10,000 routes. A tenth of the
 * IPv6 routes enters at the wrong node, so that findings have to be made as well.
 *
 * - all: the command as typed, from start to exit, JSON printed. Limit 1.5 s.
 * - judged: survey and judgement in one process, everything read. Limit 1 s.
 * - drains: what if each single node of them is drained, one after the other, on
 *   one survey. Limit 5 s together.
 * - growth: survey and judgement of 10,000 nodes by those of 1,000. Limit 12. Of the
 *   fastest round of each: a neighbour's noise falls on one of them, not on both.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { gather } from '../src/cli/doctor-flags.ts';
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
  const door = {
    write: () => {},
    say: () => {},
    readStdin: async () => new Uint8Array(),
    env: {},
    clock: { wallMs: () => Date.now(), monotonicMs: () => performance.now() },
    columns: 100,
    exitCode: 0,
  };
  const rib = files.ribs.map(([router, path]) => ({ router, path }));
  return gather(
    {
      from: files.objects,
      rib,
      output: 'json',
      ciliumNamespace: 'kube-system',
      listenSeconds: '1',
    },
    door,
  );
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
  const all: number[] = [];
  let findings = 0;
  for (let round = 0; round < ROUNDS; round++) {
    all.push(
      timed(() => {
        const argv = ['dist/cadastre.mjs', 'doctor', ...flagsOf(files), '-o', 'json'];
        const child = spawnSync(process.execPath, argv, { maxBuffer: 1 << 30, encoding: 'utf8' });
        if (child.status !== 1) throw new Error(`doctor: exit ${child.status}: ${child.stderr}`);
        findings = JSON.parse(child.stdout).findings.length;
      }),
    );
  }
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
  const sizes: Record<number, number> = {};
  for (const count of [1_000, 10_000]) {
    const some = await evidenceOf(writeSite(folder, count));
    sizes[count] = Math.min(...Array.from({ length: ROUNDS * 2 }, () => timed(() => judge(some))));
  }
  const growth = sizes[10_000]! / sizes[1_000]!;
  console.log(`${findings} findings`);
  console.log(`all      ${show(all)}`);
  console.log(`judged   ${show(judged)}`);
  console.log(`drains   ${show(drains)}`);
  console.log(
    `growth   ${sizes[1_000]!.toFixed(0)} ms for 1,000 nodes, ${sizes[10_000]!.toFixed(0)} ms for 10,000`,
  );
  console.log(`ratio doctor-all-to-1500ms ${(median(all) / 1500).toFixed(3)}`);
  console.log(`ratio doctor-judged-to-1000ms ${(median(judged) / 1000).toFixed(3)}`);
  console.log(`ratio doctor-drains-to-5000ms ${(median(drains) / 5000).toFixed(3)}`);
  console.log(`ratio doctor-growth-to-12 ${(growth / 12).toFixed(3)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
