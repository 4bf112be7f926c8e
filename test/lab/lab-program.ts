/**
 * `cadastre lab …` as one types it: the built program, labs in a folder and under
 * names of this test process, so that runs beside each other do not meet. What a
 * run that died left behind is taken down by the next one.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReplayReport } from '../../src/lab/replay/run.ts';
import { cadastreProgram } from '../world/operator-process.ts';

const run = promisify(execFile);
const prefix = 'cadastre-labs-';

export const labsFolder = join(tmpdir(), `${prefix}${process.pid}`);

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The name of a lab of this run. */
export function labName(word: string): string {
  return `t${process.pid}-${word}`;
}

export async function lab(args: string[], root = labsFolder): Promise<Outcome> {
  const program = await cadastreProgram();
  const env = { ...process.env, CADASTRE_LABS: root };
  try {
    const options = { env, maxBuffer: 64 << 20 };
    return { code: 0, ...(await run(process.execPath, [program, 'lab', ...args], options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome & { code: unknown };
    if (typeof code !== 'number') throw error;
    return { code, stdout, stderr };
  }
}

/** The same, and its words in the error if it fails. */
export async function mustLab(args: string[]): Promise<Outcome> {
  const outcome = await lab(args);
  if (outcome.code === 0) return outcome;
  throw new Error(
    `lab ${args.join(' ')}: exit ${outcome.code}\n${outcome.stderr}${outcome.stdout}`,
  );
}

export async function replayStory(
  name: string,
  story: string,
  flags: readonly string[] = [],
): Promise<ReplayReport> {
  const { stdout, stderr } = await lab(['replay', story, ...flags, '--name', name, '-o', 'json']);
  if (!stdout.startsWith('{')) throw new Error(`${story} told nothing: ${stderr}`);
  return JSON.parse(stdout) as ReplayReport;
}

export async function openLabs(): Promise<void> {
  for (const entry of readdirSync(tmpdir())) {
    const pid = Number(entry.startsWith(prefix) ? entry.slice(prefix.length) : Number.NaN);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const root = join(tmpdir(), entry);
    await lab(['down', '--all'], root);
    rmSync(root, { recursive: true, force: true });
  }
  mkdirSync(labsFolder, { recursive: true });
  // FRR's own user must find its files.
  chmodSync(labsFolder, 0o755);
}

export async function closeLabs(): Promise<void> {
  await lab(['down', '--all']);
  rmSync(labsFolder, { recursive: true, force: true });
}

/** Everything on this machine that carries the lab's name: namespaces, processes, files. */
export function tracesOf(name: string): string[] {
  const namespaces = list('/run/netns').filter((one) => one.startsWith(`cadastre-${name}-`));
  const folder = join(labsFolder, name);
  const processes = list('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const isOurs = command.includes(`${folder}/`) || command.includes(`cadastre-${name}-`);
      return isOurs ? [`process ${pid}: ${command}`] : [];
    } catch {
      return [];
    }
  });
  const files = list(labsFolder).filter((one) => one === name);
  return [...namespaces, ...processes, ...files];
}

/** Links where we are that are called like those of a lab: it makes none here. */
export async function linksHere(): Promise<string[]> {
  const { stdout } = await run('ip', ['-j', 'link']);
  return (JSON.parse(stdout) as Array<{ ifname: string }>)
    .map(({ ifname }) => ifname)
    .filter((name) => /^(p\d+|br\d+|core|mgmt\d?|cad.*)$/.test(name))
    .sort();
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
