/**
 * A newcomer's path: the README from top to bottom, typed word for word, in an empty home. What is
 * typed is taken out of the README itself. The clusters that it speaks of are real API servers:
 * one with the nodes of the incident and Cilium's objects, and an empty one.
 *
 *   npm run soak -- newcomer
 *
 * Each section is timed; a run in which everything went as the page says writes its figures into
 * docs/soak.md. Without root the site of namespaces is left out, by name.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { ciliumNodeCrd } from '../../src/lab/cluster/objects.ts';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { writeSection } from './conformance-network/write-section.ts';
import { readmeSections, type Step } from './newcomer/readme-steps.ts';

const checkout = process.cwd();
const home = mkdtempSync(join(tmpdir(), 'cadastre-newcomer-'));
const folder = join(home, 'cadastre');
const kubectl = await ensureKubeParts();
const helm = await ensureGoTool('helm');
const npmSettings = join(homedir(), '.npmrc');

/** An empty home: no cache, no kubeconfig, nothing installed but Node, git, helm and kubectl. */
function environment(kubeconfig: string | undefined): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(CADASTRE|XDG|npm|KUBE|HELM|INIT_CWD|NODE_OPTIONS)/.test(name),
  );
  const programs = [join(home, '.npm-global/bin'), dirname(process.execPath), kubectl, helm];
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    PATH: [...programs, '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'].join(':'),
    npm_config_prefix: join(home, '.npm-global'),
    // Which registry the machine uses is no part of the home that is empty.
    ...(existsSync(npmSettings) ? { npm_config_userconfig: npmSettings } : {}),
    ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
  };
}

/** As a shell runs it; sudo is nothing to one who is root already. */
const script = (line: string) => `set -euo pipefail; sudo() { "$@"; }; ${line}`;

const problems: string[] = [];
const seconds = (since: number) => (performance.now() - since) / 1_000;

async function typeLine(step: Step & { kind: 'command' }, env: NodeJS.ProcessEnv): Promise<void> {
  const { line, shown } = step;
  if (line === 'npm start') return startAndStop(env);
  const child = spawn('bash', ['-c', script(line)], { cwd: folder, env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece) => {
      said += piece;
    });
  }
  const code = await new Promise<number>((resolve) => child.on('close', (c) => resolve(c ?? -1)));
  const missing = shown.filter((part) => !said.includes(part));
  // The doctor, what-if and plan end with 1 when they found something.
  const allowed = /cadastre (doctor|whatif|plan)\b/.test(line) ? [0, 1] : [0];
  if (allowed.includes(code) && missing.length === 0) return;
  problems.push(`${line}\n  ended with ${code}\n${said}`);
}

/** `npm start` runs until Ctrl-C: until its console says that everything is ready. */
async function startAndStop(env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn('npm', ['start'], { cwd: folder, env, detached: true });
  let said = '';
  child.stdout.on('data', (piece) => {
    said += piece;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const began = performance.now();
  let isReady = false;
  while (!isReady && seconds(began) < 600 && child.exitCode === null) {
    await sleep(200);
    const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(said) ?? [];
    if (address === undefined) continue;
    isReady = await fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
  if (!isReady)
    problems.push(`npm start\n  was not ready after ${Math.round(seconds(began))} s\n${said}`);
  if (child.exitCode === null) process.kill(-child.pid!, 'SIGINT');
  await ended;
}

/** The cluster of the incident, with Cilium's objects and without Cilium. */
async function ciliumCluster(): Promise<ApiServer> {
  const api = await startApiServer();
  await api.call(
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    ciliumNodeCrd(),
  );
  const env = environment(api.kubeconfigPath);
  const apply = (...args: string[]) =>
    spawnSync('kubectl', args, { cwd: checkout, env, encoding: 'utf8' });
  apply('wait', '--for=condition=Established', 'crd/ciliumnodes.cilium.io', '--timeout=60s');
  const incident = 'test/doctor/fixtures/incident/before';
  for (const file of ['nodes.yaml', 'cilium.yaml']) {
    const { status, stderr } = apply('create', '-f', join(incident, file));
    if (status !== 0) throw new Error(`${file}: ${stderr}`);
  }
  const { items } = JSON.parse(readFileSync(join(incident, 'ciliumnodes.json'), 'utf8'));
  for (const item of items) {
    const body = { apiVersion: 'cilium.io/v2', kind: 'CiliumNode', ...item };
    const { status } = await api.call('POST', '/apis/cilium.io/v2/ciliumnodes', body);
    if (status !== 201) throw new Error(`CiliumNode ${item.metadata.name}: ${status}`);
  }
  return api;
}

const servers: ApiServer[] = [];
const rows: Array<{ title: string; commands: number; took: number }> = [];
try {
  const cilium = await ciliumCluster();
  const empty = await startApiServer();
  servers.push(cilium, empty);
  const clusters: Record<string, string | undefined> = {
    'Check a cluster in 60 seconds': cilium.kubeconfigPath,
    'Beside Cilium': cilium.kubeconfigPath,
    Standalone: empty.kubeconfigPath,
    'The lab': undefined,
  };
  mkdirSync(join(home, '.npm-global'));
  const clone = spawnSync('git', ['clone', '--quiet', `file://${checkout}`, folder]);
  if (clone.status !== 0) throw new Error(`git clone: ${clone.stderr}`);
  for (const { title, steps } of readmeSections(readFileSync(join(folder, 'README.md'), 'utf8'))) {
    const began = performance.now();
    let commands = 0;
    for (const step of steps) {
      if (step.kind === 'file') {
        writeFileSync(join(folder, step.name), step.text);
        continue;
      }
      if (step.line.startsWith('sudo ') && process.getuid?.() !== 0) {
        console.log(`left out, because this is not root: ${step.line}`);
        continue;
      }
      const before = performance.now();
      await typeLine(step, environment(clusters[title]));
      console.log(`${seconds(before).toFixed(1).padStart(6)} s  ${step.line}`);
      commands++;
    }
    rows.push({ title, commands, took: seconds(began) });
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(home, { recursive: true, force: true });
}

for (const { title, took } of rows) console.log(`${took.toFixed(0).padStart(5)} s  ${title}`);
if (problems.length > 0) {
  console.log(`\nnot as the README says:\n\n${problems.join('\n\n')}`);
  process.exitCode = 1;
} else {
  const day = new Date().toISOString().slice(0, 10);
  const load = loadavg()[0]!.toFixed(0);
  const root = process.getuid?.() === 0 ? '' : ', without root';
  writeSection(
    'newcomer',
    [
      `${day}, Node ${process.versions.node}, a load of ${load} at the end${root}:`,
      '',
      '| section of the README | commands | took |',
      '| --- | --- | --- |',
      ...rows.map(
        ({ title, commands, took }) => `| ${title} | ${commands} | ${Math.round(took)} s |`,
      ),
    ],
    'docs/soak.md',
  );
}
