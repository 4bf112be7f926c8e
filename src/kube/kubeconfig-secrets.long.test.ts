/**
 * A kubeconfig is secrets: whatever is wrong with one, nothing of what it holds
 * may be printed but the names by which its parts refer to each other.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  leakedSecrets,
  secretKubeconfig,
  secretUsers,
} from '../../test/parts/secret-kubeconfig.ts';
import { CadastreError, describeError } from '../base/errors.ts';
import { loadKubeConfig } from './kubeconfig.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'cadastre-secrets-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Everything that any part of the program could make of what was thrown. */
async function printedFor(path: string): Promise<string> {
  try {
    const access = await loadKubeConfig({ kubeconfig: path, env: { HOME: dir, PATH: '/bin' } });
    await access.credentials.current();
    return '';
  } catch (error) {
    expect(error, 'foreseen').toBeInstanceOf(CadastreError);
    const { remedy = '' } = error as CadastreError;
    return `${describeError(error)}\n${remedy}\n${inspect(error, { depth: 9 })}\n${JSON.stringify(error)}`;
  }
}

async function expectNoSecret(content: string): Promise<void> {
  const path = join(dir, 'config');
  writeFileSync(path, content);
  expect(leakedSecrets(await printedFor(path))).toEqual([]);
}

const users = fc.constantFrom(...Object.keys(secretUsers));
const spot = fc.double({ min: 0, max: 1, noNaN: true });
/** Characters that mean something in YAML, and a few that mean nothing. */
const marks = fc.string({
  unit: fc.constantFrom(...':-?[]{},#&*!|>\'"%@` \n\t', '\u0000', 'é', 'a', '1'),
  minLength: 1,
  maxLength: 4,
});

describe('a kubeconfig that is broken', () => {
  test('somewhere in its text', async () => {
    const damage = fc.oneof(
      fc.record({ kind: fc.constant('cut' as const), at: spot }),
      fc.record({ kind: fc.constant('delete' as const), at: spot, count: fc.nat(60) }),
      fc.record({ kind: fc.constant('insert' as const), at: spot, text: marks }),
      fc.record({ kind: fc.constant('replace' as const), at: spot, text: marks }),
    );
    await fc.assert(
      fc.asyncProperty(users, fc.array(damage, { minLength: 1, maxLength: 3 }), (user, all) => {
        let text = stringify(secretKubeconfig(user));
        for (const one of all) {
          const at = Math.floor(one.at * text.length);
          const before = text.slice(0, at);
          if (one.kind === 'cut') text = before;
          else if (one.kind === 'delete') text = before + text.slice(at + one.count);
          else if (one.kind === 'insert') text = before + one.text + text.slice(at);
          else text = before + one.text + text.slice(at + one.text.length);
        }
        return expectNoSecret(text);
      }),
    );
  });

  test('by a value of another type at any place', async () => {
    const others: Array<(value: unknown) => unknown> = [
      (value) => [value],
      (value) => ({ value }),
      (value) => [[{ value }]],
      (value) => (typeof value === 'string' ? value.split(':') : [value, value]),
      () => 42,
      () => true,
      () => null,
      (value) => JSON.stringify(value),
    ];
    const places = Object.keys(secretUsers).flatMap((user) => {
      const found: Array<{ user: string; path: string[] }> = [];
      const visit = (value: unknown, path: string[]) => {
        if (path.length > 0) found.push({ user, path });
        if (typeof value !== 'object' || value === null) return;
        for (const [key, one] of Object.entries(value)) visit(one, [...path, key]);
      };
      visit(secretKubeconfig(user), []);
      return found;
    });
    for (const { user, path } of places) {
      for (const other of others) {
        const config = secretKubeconfig(user);
        const last = path.at(-1)!;
        const parent = path
          .slice(0, -1)
          .reduce<Record<string, unknown>>(
            (value, key) => value[key] as Record<string, unknown>,
            config,
          );
        parent[last] = other(parent[last]);
        await expectNoSecret(JSON.stringify(config));
      }
    }
    expect(places.length).toBeGreaterThan(60);
  });

  test.each([
    ['an alias of nothing', 'users: *TOKEN'],
    ['a tag of nobody', 'users: !TOKEN x'],
    ['the same key twice', 'TOKEN: 1\nTOKEN: 2'],
    ['a directive', '%TOKEN x\n---\na: b'],
    ['the token alone', 'TOKEN'],
    ['the token as every name', 'current-context: TOKEN\ncontexts:\n- name: TOKEN x\n'],
    ['the token as a user', 'current-context: a\ncontexts:\n- {name: a, context: {user: TOKEN}}\n'],
    ['the token as a list', 'users: TOKEN\n'],
    ['an entry without a name', 'users: [{ user: { token: TOKEN } }]\n'],
  ])('%s', async (_, text) => {
    await expectNoSecret(text.replaceAll('TOKEN', secretUsers.token!.token as string));
  });

  test('given in place of its path', async () => {
    const text = JSON.stringify(secretKubeconfig('token'));
    for (const kubeconfig of [text, stringify(secretKubeconfig('token'))]) {
      expect(leakedSecrets(await printedFor(kubeconfig))).toEqual([]);
      const byVariable = loadKubeConfig({ env: { HOME: dir, KUBECONFIG: kubeconfig } });
      const error = await byVariable.catch((thrown: unknown) => thrown);
      expect(leakedSecrets(describeError(error))).toEqual([]);
      expect(describeError(error)).toContain('$KUBECONFIG');
    }
  });
});

describe('a credential plugin', () => {
  const plugin = (script: string) => {
    const path = join(dir, 'plugin');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    const config = secretKubeconfig('exec');
    const [user] = config.users as Array<{ user: { exec: Record<string, unknown> } }>;
    user!.user.exec.command = path;
    return expectNoSecret(JSON.stringify(config));
  };
  const token = secretUsers.token!.token as string;

  test.each([
    ['fails with words', `echo ${token}; echo ${token} >&2; exit 3`],
    ['prints no JSON', `echo ${token}`],
    ['prints JSON of something else', `echo '{"kind":"${token}","apiVersion":"${token}"}'`],
    ['prints a list', `echo '["${token}"]'`],
    ['prints null', 'echo null'],
    [
      'prints a time that is none',
      `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"${token}","expirationTimestamp":"${token}"}}'`,
    ],
    [
      'prints a status that is none',
      `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":"${token}"}'`,
    ],
    ['dies', 'kill -9 $$'],
  ])('that %s', (_, script) => plugin(script));
});
