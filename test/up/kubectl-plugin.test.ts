/** `kubectl cadastre …` as the package brings it, by the real kubectl. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { linkPrograms } from '../cli/installed-names.ts';
import { startUp, type UpProcess } from './up-process.ts';

let up: UpProcess;
let programs: Awaited<ReturnType<typeof linkPrograms>>;
beforeAll(async () => {
  programs = await linkPrograms();
  up = await startUp();
}, 180_000);
afterAll(async () => {
  await up?.stop();
  programs?.remove();
});

/** Without --kubeconfig: kubectl takes no flag before the name of a plugin, and hands none on. */
async function kubectl(...args: string[]) {
  const child = spawn(join(await ensureKubeParts(), 'kubectl'), args, {
    env: { HOME: up.dir, PATH: programs.path, KUBECONFIG: up.kubeconfigPath },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve, reject) => child.on('error', reject).on('close', resolve)),
  ]);
  return { stdout, stderr, exitCode };
}

test('kubectl lists it', async () => {
  const { stdout } = await kubectl('plugin', 'list', '--name-only');
  expect(stdout.split('\n')).toContain('kubectl-cadastre');
});

test('kubectl runs it, with its answer and its exit code', async () => {
  const nodes = await kubectl('cadastre', 'nodes', '-o', 'name');
  expect(nodes).toMatchObject({ exitCode: 0, stderr: '' });
  expect(nodes.stdout).toBe('node/master1\nnode/master2\nnode/master3\nnode/node1\n');
  expect((await kubectl('cadastre', 'nodes', '--nonsense')).exitCode).toBe(2);
});

test('kubectl completes it, with names of the cluster', async () => {
  const complete = async (...words: string[]) =>
    (await kubectl('__complete', 'cadastre', ...words)).stdout.trimEnd().split('\n');
  expect(await complete('whatif', 'dr')).toEqual(['drain', ':4']);
  expect(await complete('drain', 'm')).toEqual(['master1', 'master2', 'master3', ':4']);
});
