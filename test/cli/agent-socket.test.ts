/** `--socket` of the built program: what is there is never lost, and a living socket never taken. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildCli } from '../../scripts/build.mjs';
import { root, runBuilt } from './built-command.ts';

let folder: string;
let path: string;
let agents: ChildProcess[] = [];

beforeAll(async () => {
  await buildCli({ quiet: true });
}, 180_000);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadastre-socket-'));
  path = join(folder, 'agent.sock');
  const named = (rest: object) => [{ name: 'x', ...rest }];
  const config = {
    'current-context': 'x',
    // Nobody answers there: the socket does not wait for the API server.
    clusters: named({ cluster: { server: 'https://127.0.0.1:1' } }),
    contexts: named({ context: { cluster: 'x', user: 'x' } }),
    users: named({ user: { token: 'x' } }),
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config));
});
afterEach(async () => {
  for (const agent of agents) {
    if (agent.exitCode !== null || agent.signalCode !== null) continue;
    agent.kill('SIGKILL');
    await once(agent, 'exit');
  }
  agents = [];
  rmSync(folder, { recursive: true });
});

const agentArgs = (socket: string, state: string) => [
  ...['agent', '--kernel', 'fake', '--node-name', 'node1', '--listen', '127.0.0.1:0'],
  ...['--kubeconfig', join(folder, 'kubeconfig')],
  ...['--state-dir', join(folder, state), '--socket', socket],
];

/** Its first line: that it is starting, or why not. */
async function startAgent(
  socket: string,
  state: string,
): Promise<{ agent: ChildProcess; said: string }> {
  const argv = [join(root, 'dist/cadastre.mjs'), ...agentArgs(socket, state)];
  const agent = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  agents.push(agent);
  const [line] = (await Promise.race([
    once(agent.stdout as NodeJS.ReadableStream, 'data'),
    once(agent.stderr as NodeJS.ReadableStream, 'data'),
  ])) as [Buffer];
  return { agent, said: String(line) };
}

/** Whether an agent answers; its exit code says how the node is. */
const answers = async () =>
  (await runBuilt(['status', '--socket', path, '-o', 'json'])).stdout.startsWith('{');

test.each<[string, () => void]>([
  ['a file', () => writeFileSync(path, 'precious')],
  ['a folder', () => mkdirSync(path)],
  ['a FIFO', () => execFileSync('mkfifo', [path])],
  ['a link to a file', () => symlinkSync(join(folder, 'file'), path)],
])('%s in the place of the socket is refused and left as it is', async (_, make) => {
  writeFileSync(join(folder, 'file'), 'precious');
  make();
  const before = lstatSync(path);
  for (const argv of [
    agentArgs(path, 'state'),
    ['status', '--socket', path],
    ['ipam', 'status', '--socket', path],
  ]) {
    const { code, stderr } = await runBuilt(argv);
    expect(code, `${argv}: ${stderr}`).toBeGreaterThan(0);
    expect(stderr).not.toMatch(/\n {4}at /);
    if (argv[0] === 'agent')
      expect([code, stderr]).toEqual([2, expect.stringContaining('is no socket')]);
  }
  const { ino, mode, size, mtimeMs } = lstatSync(path);
  expect({ ino, mode, size, mtimeMs }).toEqual({
    ...{ ino: before.ino, mode: before.mode, size: before.size, mtimeMs: before.mtimeMs },
  });
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('precious');
  expect(readdirSync(folder).sort()).toEqual(['agent.sock', 'file', 'kubeconfig', 'state'].sort());
});

test('a second agent leaves a living socket alone; a dead one is replaced', async () => {
  const { agent, said } = await startAgent(path, 'one');
  expect(said).toContain('"msg":"starting"');
  const { ino, mode } = statSync(path);
  expect(mode & 0o777).toBe(0o600);
  const second = await runBuilt(agentArgs(path, 'two'));
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`${path} is in use by process ${agent.pid} (cadastre agent)`);
  expect(statSync(path).ino).toBe(ino);
  expect(await answers()).toBe(true);

  agent.kill('SIGKILL');
  await once(agent, 'exit');
  expect(lstatSync(path).isSocket()).toBe(true);
  expect(await answers()).toBe(false);
  const next = await startAgent(path, 'two');
  expect(next.said).toContain('"msg":"starting"');
  expect(await answers()).toBe(true);
});

test('a program of somebody else that listens there keeps its socket', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const { code, stderr } = await runBuilt(agentArgs(path, 'state'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('a process answers there')]);
  expect(lstatSync(path).isSocket()).toBe(true);
  await new Promise((resolve) => server.close(resolve));
});

test('of two that start at once on a dead socket one serves, and the other says why not', async () => {
  const dead = await startAgent(path, 'dead');
  dead.agent.kill('SIGKILL');
  await once(dead.agent, 'exit');
  for (let round = 0; round < 3; round++) {
    const both = await Promise.all([startAgent(path, 'one'), startAgent(path, 'two')]);
    const serving = both.filter(({ said }) => said.includes('"msg":"starting"'));
    expect(serving, both.map(({ said }) => said).join('\n')).toHaveLength(1);
    expect(both.find((one) => one !== serving[0])?.said).toContain('is in use by process');
    expect(await answers()).toBe(true);
    serving[0]?.agent.kill('SIGKILL');
    await once(serving[0]?.agent as ChildProcess, 'exit');
  }
});
