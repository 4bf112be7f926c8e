/** One run of Kubernetes' e2e.test against a cluster, and what its report says. */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { ensureE2eTest, ensureKubeParts } from '../../../scripts/parts.mjs';
import { readSpecs, type Spec } from './specs.ts';

export interface E2eRun {
  readonly kubeconfig: string;
  /** A regular expression: the tests whose name it matches. */
  readonly focus: string;
  /** More flags, such as `--ginkgo.skip=…`. */
  readonly flags?: readonly string[];
  /** The command line in front, which enters a namespace. */
  readonly inside?: readonly string[];
  /** `report.json` and `e2e.log` with this in front: `/tmp/x/list-`. */
  readonly files: string;
}

export const logOf = ({ files }: Pick<E2eRun, 'files'>) => `${files}e2e.log`;

/** A test that fails is in the answer; what fails around the tests is an error. */
export async function runE2e(run: E2eRun): Promise<Spec[]> {
  const flags = [
    `--kubeconfig=${run.kubeconfig}`,
    '--provider=skeleton',
    `--kubectl-path=${join(await ensureKubeParts(), 'kubectl')}`,
    '--disable-log-dump',
    '--dump-logs-on-failure=false',
    '--ginkgo.v',
    '--ginkgo.timeout=4h',
  ];
  const specs = await start({ ...run, flags: [...flags, ...(run.flags ?? [])] });
  const broken = specs.find(({ name, state }) => /Suite/.test(name) && state === 'failed');
  if (broken !== undefined) throw new Error(`${broken.name}: ${broken.why} (${logOf(run)})`);
  return specs;
}

/** The names of all tests that match, in the program's order; none is run. */
export async function listTests(files: string, focus: string): Promise<string[]> {
  const specs = await start({ focus, files, flags: ['--ginkgo.dry-run'] });
  return specs.flatMap(({ name, state }) => (state === 'passed' ? [name] : []));
}

async function start(run: Omit<E2eRun, 'kubeconfig'>): Promise<Spec[]> {
  const reportPath = `${run.files}report.json`;
  const [program = '', ...args] = [
    ...(run.inside ?? []),
    await ensureE2eTest(),
    `--ginkgo.focus=${run.focus}`,
    ...(run.flags ?? []),
    `--ginkgo.json-report=${reportPath}`,
    '--ginkgo.no-color',
  ];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  const log = createWriteStream(logOf(run));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      log.end();
      resolve();
    });
  });
  process.off('exit', stop);
  return readSpecs(reportPath);
}
