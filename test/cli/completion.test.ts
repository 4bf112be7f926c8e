/** Completion as a person has it: real shells ask the built program, which asks a cluster. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from './collecting-terminal.ts';
import { linkPrograms } from './installed-names.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-completion-'));
const kubeconfig = join(dir, 'config');
let programs: Awaited<ReturnType<typeof linkPrograms>>;
let api: Server;

const lists: Record<string, string[]> = {
  '/api/v1/nodes': ['master1', 'master2', 'node1'],
  '/apis/cadastre.dev/v1alpha1/ippools': ['rack-83', 'rack-94'],
  '/apis/cadastre.dev/v1alpha1/bgppeers': ['tor1', 'tor2'],
};

beforeAll(async () => {
  for (const name of Object.keys(ask)) {
    writeFileSync(join(dir, `script.${name}`), (await run(['completion', name])).stdout);
  }
  programs = await linkPrograms();
  api = createServer((request, response) => {
    const names = lists[request.url?.split('?')[0] ?? ''];
    const items = names?.map((name) => ({ metadata: { name } })) ?? [];
    response.writeHead(names === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items }),
    );
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const { port } = api.address() as AddressInfo;
  writeFileSync(
    kubeconfig,
    `apiVersion: v1
kind: Config
current-context: here
clusters: [{ name: c, cluster: { server: "http://127.0.0.1:${port}" } }]
contexts: [{ name: here, context: { cluster: c } }, { name: there, context: { cluster: c } }]
users: []
`,
  );
});
afterAll(() => {
  api.close();
  programs.remove();
  rmSync(dir, { recursive: true });
});

/** Not spawnSync: the API server is in this process. */
async function shell(program: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(program, args, {
    cwd: dir,
    env: { HOME: dir, TERM: 'dumb', PATH: programs.path, KUBECONFIG: kubeconfig, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  expect(err).toBe('');
  return out.split('\n').filter((line) => line !== '');
}

/** As bash splits a line: at = and : too. */
function bashWords(line: string): string[] {
  const words = line.match(/[=:]|[^\s=:]+/g) ?? [];
  return /[\s=:]$/.test(line) && !/[=:]$/.test(line) ? [...words, ''] : words;
}

const ask: Record<string, (line: string) => Promise<string[]>> = {
  bash: (line) => {
    const words = bashWords(line);
    return shell('bash', [
      '-c',
      `source script.bash
COMP_LINE=$1 COMP_POINT=\${#1}; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cadastre; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      line,
      ...words,
    ]);
  },
  zsh: (line) =>
    shell('zsh', [
      '-fc',
      `compdef() { : }; compadd() { print -l -- "\${@[4,-1]}" }; _files() { print -l -- $words[CURRENT]*(N) }
source ./script.zsh
words=("\${(@s: :)1}"); CURRENT=$#words; _cadastre`,
      'zsh',
      line,
    ]),
  fish: (line) => shell('fish', ['-c', `source script.fish; complete -C "${line}"`]),
};

describe.each(Object.entries(ask))('in a real %s', (name, complete) => {
  const isMissing = spawnSync(name, ['-c', 'true']).error !== undefined;
  const cases: Array<[string, string[]]> = [
    ['cadastre no', ['nodes']],
    ['cadastre whatif rem', ['remove-pool']],
    ['cadastre drain ', ['master1', 'master2', 'node1']],
    ['cadastre nodes master1 n', ['node1']],
    ['cadastre nodes --pool rack-8', ['rack-83']],
    ['cadastre bgp routes --peer ', ['tor1', 'tor2']],
    ['cadastre nodes --context th', ['there']],
    ['cadastre nodes --uns', ['--unserved']],
    ['cadastre nodes -o j', ['json']],
    ['cadastre lab up two', ['two-racks']],
    ['cadastre completion f', ['fish']],
  ];
  // It gives up on a cluster after two seconds; who wants the names then presses Tab again.
  test.skipIf(isMissing).each(cases)('%s', async (line, wanted) => {
    await expect.poll(() => complete(line)).toEqual(wanted);
  });

  test.skipIf(isMissing)('a flag with its value in one word, and a path', async () => {
    // bash replaces only what stands after the =.
    const wanted = name === 'bash' ? 'rack-94' : '--pool=rack-94';
    await expect.poll(() => complete('cadastre nodes --pool=rack-9')).toEqual([wanted]);
    expect(await complete('cadastre doctor --from con')).toEqual(['config']);
  });
});

describe('cadastre __complete', () => {
  const words = async (...line: string[]) => {
    const { code, stdout, stderr } = await run(['__complete', '--', ...line]);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.trimEnd().split('\n');
  };

  test('is silent where there is no cluster, and for what it cannot know', async () => {
    expect(await words('drain', '--kubeconfig', '/nowhere', '')).toEqual([':4']);
    expect(await words('nonsense', '')).toEqual([':4']);
    expect(await words('nodes', '--nonsense=')).toEqual([':4']);
  });

  test('names every command, and none that is hidden', async () => {
    const all = await words('');
    expect(all).toEqual(expect.arrayContaining(['up', 'doctor', 'completion', 'help', ':4']));
    expect(all.filter((word) => word.startsWith('_'))).toEqual([]);
  });

  test('a flag that was given a value is no argument', async () => {
    expect(await words('whatif', '--debug', 'rel')).toEqual(['relabel', ':4']);
    expect(await words('nodes', '-o', 'json', '--co')).toContain('--context');
    expect(await words('nodes', '--kubeconfig', '')).toEqual([':0']);
  });
});
