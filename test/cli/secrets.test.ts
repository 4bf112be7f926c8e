/**
 * Every command that reads a kubeconfig, with one that is broken in many ways:
 * nothing that it prints holds a part of a secret. Passwords of routers likewise.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { leakedSecrets, secretKubeconfig, secretUsers } from '../parts/secret-kubeconfig.ts';
import { runBuilt } from './built-command.ts';
import { everyCommand, neededWords, run, type Told } from './collecting-terminal.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-secrets-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const token = secretUsers.token!.token as string;
const text = (user: string) => stringify(secretKubeconfig(user));

/** All are refused before anybody is asked. */
const broken: Record<string, string> = {
  cut: text('token').replace(`token: ${token}`, `token: "${token}`),
  indented: text('token').replace('      token:', '   token:'),
  'token in a list': text('token').replace(token, `[${token}]`),
  'token twice': text('token').replace(`token: ${token}`, `${token}: 1\n      ${token}: 2`),
  'token as an alias': text('token').replace(token, `*${token}`),
  'token as the context': text('token').replace(
    'current-context: main',
    `current-context: ${token}`,
  ),
  'token as a name': text('token').replace('name: me', `name: me ${token}`),
  'password as a list': text('password').replace('password: ', 'password: \n        - '),
  'key that is no base64': text('certificate').replace('client-key-data: ', 'client-key-data: "~'),
  'key as a path': text('certificate').replace('client-key-data', 'client-key'),
  'a token file that is not there': text('tokenFile'),
  'a plugin without an apiVersion': text('exec').replace('apiVersion: client', 'x: client'),
  provider: text('provider'),
  words: token,
};

/** What a command wants to hear besides. */
const besides: Record<string, string[]> = {
  'migrate apply': ['node1', '--yes'],
  'migrate undo': ['--yes'],
};

function expectNoSecret(told: Told, what: string): void {
  expect(leakedSecrets(told.stdout + told.stderr), what).toEqual([]);
}

test('every command that reads a kubeconfig', async () => {
  const commands = (await everyCommand()).filter(({ command }) =>
    command.options.some(({ long }) => long === '--kubeconfig'),
  );
  expect(commands.length).toBeGreaterThan(12);
  const path = join(dir, 'config');
  for (const { words, command } of commands) {
    for (const [what, content] of Object.entries(broken)) {
      writeFileSync(path, content);
      const name = words.join(' ');
      const given = [...neededWords(command), ...(besides[name] ?? [])];
      const told = await run([...words, ...given, '--kubeconfig', path, '--debug']);
      expectNoSecret(told, `${name}: ${what}`);
      expect(told.code, name).not.toBe(0);
      expect(told.stderr, name).toContain(path);
      expect(told.stderr, name).not.toContain('this is a bug');
    }
  }
});

test('a running part says no more in its log', async () => {
  const path = join(dir, 'config');
  writeFileSync(path, broken['token in a list']!);
  for (const argv of [['operator'], ['agent', '--node-name', 'n'], ['console']]) {
    const told = await runBuilt([...argv, '--kubeconfig', path, '--log-level', 'debug', '--debug']);
    expectNoSecret(told, argv[0]!);
    expect(told.stderr).toContain('line');
  }
});

test('an API server, or a proxy before it, that repeats what it was sent', async () => {
  const server = createServer((asked, answer) => {
    answer.writeHead(asked.url?.includes('plain') ? 200 : 401, { 'content-type': 'text/plain' });
    answer.end(`you sent ${JSON.stringify(asked.headers)}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const path = join(dir, 'config');
  for (const base of ['', '/plain']) {
    for (const user of ['token', 'password']) {
      const config = secretKubeconfig(user, `http://127.0.0.1:${port}${base}`);
      writeFileSync(path, JSON.stringify(config));
      const told = await run(['nodes', '--kubeconfig', path, '--debug', '-v']);
      expect(told.code).toBe(1);
      expect(told.stderr).toMatch(/you sent|not a list/);
      expectNoSecret(told, user);
    }
  }
  await new Promise((resolve) => server.close(resolve));
});
