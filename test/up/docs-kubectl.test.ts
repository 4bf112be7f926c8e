/** The kubectl commands of the run book and its neighbours, asked of a running site by the real kubectl. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureKubeParts } from '../../scripts/parts.mjs';
import { fencesOf } from '../docs-text.ts';
import { looseCrd } from '../parts/test-api.ts';
import { commandsOf, wordsOf } from '../shell-lines.ts';
import { startUp, type UpProcess } from './up-process.ts';

const pages = ['runbook', 'upgrade', 'high-availability', 'bgp'];

/** Those that look; what changes something has its own tests. */
const looks = /^kubectl (?:-n \S+ )?(?:get|describe|logs|auth)\b/;
const lines = pages
  .flatMap((page) => fencesOf(`docs/${page}.md`))
  .flatMap(commandsOf)
  .map((line) => line.replace(/\s*[>|].*$/, ''))
  .filter((line) => looks.test(line));

const values: Record<string, string> = { NODE: 'master1', ADDRESS: '10.5.0.2', POOL: 'pods' };

let up: UpProcess;
beforeAll(async () => {
  up = await startUp();
  const cilium = ['CiliumNode', 'CiliumBGPNodeConfig', 'CiliumPodIPPool'].map((kind) =>
    looseCrd({ group: 'cilium.io', version: 'v2', plural: `${kind.toLowerCase()}s`, kind }),
  );
  for (const crd of cilium) {
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      ...crd,
    };
    const { exitCode, stderr } = await kubectl(['create', '-f', '-'], JSON.stringify(body));
    expect([exitCode, stderr]).toEqual([0, '']);
  }
}, 180_000);
afterAll(() => up?.stop());

async function kubectl(args: readonly string[], stdin = '') {
  const child = spawn(join(await ensureKubeParts(), 'kubectl'), args, {
    env: { HOME: up.dir, PATH: '/usr/bin:/bin', KUBECONFIG: up.kubeconfigPath },
  });
  child.stdin.end(stdin);
  const [stdout, stderr, exitCode] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve, reject) => child.on('error', reject).on('close', resolve)),
  ]);
  return { stdout, stderr, exitCode };
}

test('there are many', () => {
  expect(new Set(lines).size).toBeGreaterThan(20);
});

test.each([...new Set(lines)])('%s', async (line) => {
  const words = wordsOf(line).map((word) =>
    word.replace(/\b[A-Z]{4,}\b/g, (name) => values[name] ?? name),
  );
  const { exitCode, stderr } = await kubectl(words.slice(1));
  // The site has no Deployments, Pods of ours, or Cilium. Anything else is a fault of the command.
  const absent = /^Error from server \(NotFound\)|^error: .*not found|^No resources found/;
  if (stderr !== '') expect(stderr).toMatch(absent);
  else expect(exitCode).toBe(0);
});
