/**
 * Kubernetes' e2e.test, started on a machine outside of the cluster and of the nodes'
 * network, from where the addresses of Services are reached as clients reach them.
 */
import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { ensureE2eTest, ensureKubeParts } from '../../../scripts/parts.mjs';
import { readSpecs, type Spec } from '../conformance-api/specs.ts';

export interface E2eRun {
  readonly kubeconfig: string;
  /** The command line in front, which enters a namespace. */
  readonly inside: readonly string[];
  /** Where logs and reports go. */
  readonly folder: string;
}

/** The names of all tests of e2e.test that match, in its order. */
export async function listTests(folder: string, focus: string): Promise<string[]> {
  const report = join(folder, 'list.json');
  await start(
    [],
    ['--ginkgo.dry-run', `--ginkgo.focus=${focus}`],
    report,
    join(folder, 'list.log'),
  );
  return readSpecs(report).flatMap(({ name, state }) => (state === 'passed' ? [name] : []));
}

/** A quarter of an hour each: they wait a minute for every pod of five rolling updates. */
const isLong = (name: string) => name.includes('disruption during rolling update');

/** Runs tests by name, `atOnce` at a time; long ones beside them. */
export async function runTests(
  { kubeconfig, inside, folder }: E2eRun,
  names: readonly string[],
  atOnce: number,
): Promise<Spec[]> {
  const kubectl = join(await ensureKubeParts(), 'kubectl');
  const place = mkdtempSync(join(folder, 'run-'));
  const short = names.filter((name) => !isLong(name));
  const shards = [
    ...names.filter(isLong).map((name) => [name]),
    ...Array.from({ length: atOnce }, (_, shard) =>
      short.filter((_, index) => index % atOnce === shard),
    ).filter((shard) => shard.length > 0),
  ];
  const runs = shards.map(async (shard, at) => {
    const own = new Set(shard);
    const report = join(place, `report-${at}.json`);
    const flags = [
      `--kubeconfig=${kubeconfig}`,
      '--provider=skeleton',
      `--kubectl-path=${kubectl}`,
      '--disable-log-dump',
      `--ginkgo.focus= (${[...own].map(escaped).join('|')})$`,
      '--ginkgo.v',
      '--ginkgo.timeout=4h',
    ];
    await start(inside, flags, report, join(place, `e2e-${at}.log`));
    const all = readSpecs(report);
    const broken = all.find(({ name, state }) => /Suite/.test(name) && state === 'failed');
    if (broken !== undefined) throw new Error(`${broken.name}: ${broken.why}`);
    return all.filter(({ name }) => own.has(name));
  });
  return (await Promise.all(runs)).flat();
}

/** Ends when it ends: what failed is in the report. */
async function start(
  inside: readonly string[],
  flags: readonly string[],
  reportPath: string,
  logPath: string,
): Promise<void> {
  const [program = '', ...args] = [
    ...inside,
    await ensureE2eTest(),
    ...flags,
    `--ginkgo.json-report=${reportPath}`,
    '--ginkgo.no-color',
  ];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  const log = createWriteStream(logPath);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      log.end();
      resolve();
    });
  });
  process.off('exit', stop);
}

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
