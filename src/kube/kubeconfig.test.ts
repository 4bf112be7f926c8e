import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Clock } from '../base/clock.ts';
import { CadastreError } from '../base/errors.ts';
import { type LoadOptions, loadKubeConfig } from './kubeconfig.ts';

const pem = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const base64 = (text: string) => Buffer.from(text).toString('base64');

let dir: string;
let nowMs = 0;
const clock: Clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cadastre-kubeconfig-'));
  nowMs = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(name: string, content: string | object): string {
  const path = join(dir, name);
  writeFileSync(path, typeof content === 'string' ? content : stringify(content));
  return path;
}

function config(user: object, cluster: object = {}, context: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    clusters: [{ name: 'site', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'me', user }],
    contexts: [{ name: 'main', context: { cluster: 'site', user: 'me', ...context } }],
  };
}

/** Nothing of the machine the test runs on. */
const load = (options: LoadOptions) => loadKubeConfig({ env: { HOME: dir }, clock, ...options });

async function refusal(work: Promise<unknown>): Promise<CadastreError> {
  const error = await work.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(CadastreError);
  expect(error.code).toBe('BAD_KUBECONFIG');
  expect(error.message).not.toContain('\n');
  return error;
}

describe('where the kubeconfig is', () => {
  test('the path that was given, before everything else', async () => {
    const path = write('given', config({ token: 'given' }));
    const other = write('other', config({ token: 'other' }));
    const access = await load({ kubeconfig: path, env: { KUBECONFIG: other, HOME: dir } });
    expect(await access.credentials.current()).toMatchObject({ authorization: 'Bearer given' });
    expect(access.origin).toBe(`context "main" of ${path}`);
  });

  test('$KUBECONFIG, several files merged: the first that names a thing wins', async () => {
    const first = write('first', {
      contexts: [{ name: 'main', context: { cluster: 'site', user: 'me', namespace: 'net' } }],
      users: [{ name: 'me', user: { token: 'first' } }],
    });
    const second = write('second', config({ token: 'second' }, { server: 'https://second:6443' }));
    const access = await load({
      env: { KUBECONFIG: `${first}:${join(dir, 'missing')}::${second}`, HOME: dir },
    });
    expect(access.server).toBe('https://second:6443');
    expect(access.namespace).toBe('net');
    expect(await access.credentials.current()).toMatchObject({ authorization: 'Bearer first' });
  });

  test('a $KUBECONFIG that leads nowhere is an error, not a reason to look elsewhere', async () => {
    mkdirSync(join(dir, '.kube'));
    write('.kube/config', config({ token: 'home' }));
    const error = await refusal(load({ env: { KUBECONFIG: '/nowhere', HOME: dir } }));
    expect(error.message).toBe('$KUBECONFIG is "/nowhere", and no such file exists.');
  });

  test('the service account of the pod', async () => {
    write('token', 'first\n');
    write('ca.crt', pem);
    write('namespace', 'kube-system');
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443', HOME: dir };
    const access = await load({ env, inClusterDir: dir });
    expect(access).toMatchObject({ server: 'https://10.96.0.1:443', namespace: 'kube-system' });
    expect(access.tls.ca).toBe(pem);
    const v6 = await load({
      env: { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' },
      inClusterDir: dir,
    });
    expect(v6.server).toBe('https://[fd00::1]:443');
  });

  test('a pod without its token says what to do', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', HOME: dir };
    const error = await refusal(load({ env, inClusterDir: dir }));
    expect(error.message).toContain(join(dir, 'token'));
    expect(error.remedy).toContain('automountServiceAccountToken');
  });

  test('~/.kube/config, and a clear word when there is nothing at all', async () => {
    const error = await refusal(load({}));
    expect(error.message).toContain(join(dir, '.kube/config'));
    expect(error.remedy).toContain('--kubeconfig');
    mkdirSync(join(dir, '.kube'));
    write('.kube/config', config({ token: 'home' }));
    expect((await load({})).origin).toContain('.kube/config');
  });

  test('another context than the current one', async () => {
    const both = config({ token: 't' }) as { contexts: object[] };
    both.contexts.push({ name: 'other', context: { cluster: 'site', namespace: 'elsewhere' } });
    const access = await load({ kubeconfig: write('both', both), context: 'other' });
    expect(access.namespace).toBe('elsewhere');
    expect(await access.credentials.current()).toEqual({});
  });
});

describe('who we are', () => {
  test('a client certificate, embedded or as files beside the kubeconfig', async () => {
    const embedded = await load({
      kubeconfig: write(
        'embedded',
        config({ 'client-certificate-data': base64(pem), 'client-key-data': base64(pem) }),
      ),
    });
    expect(await embedded.credentials.current()).toMatchObject({ cert: pem, key: pem });
    write('me.crt', pem);
    write('me.key', pem);
    const files = await load({
      kubeconfig: write(
        'files',
        config({ 'client-certificate': 'me.crt', 'client-key': 'me.key' }),
      ),
    });
    const before = await files.credentials.current();
    expect(before).toMatchObject({ cert: pem, key: pem });
    write('me.crt', `${pem}rotated`);
    nowMs += 1_001;
    expect((await files.credentials.current()).cert).toBe(`${pem}rotated`);
  });

  test('a token file is read again when it changes, and the token wins over nothing else', async () => {
    const path = write('token-1', 'one\n');
    const link = join(dir, 'token');
    symlinkSync(path, link);
    const access = await load({
      kubeconfig: write('k', config({ tokenFile: 'token', token: 'ignored' })),
    });
    const first = await access.credentials.current();
    expect(first.authorization).toBe('Bearer one');
    expect(await access.credentials.current()).toBe(first);

    // As the kubelet does it: a new file, the link swapped.
    write('token-2', 'two\n');
    unlinkSync(link);
    symlinkSync(join(dir, 'token-2'), link);
    expect(await access.credentials.current()).toBe(first);
    nowMs += 1_001;
    expect((await access.credentials.current()).authorization).toBe('Bearer two');
  });

  test('a 401 looks at the token file at once', async () => {
    write('token', 'one');
    const access = await load({ kubeconfig: write('k', config({ tokenFile: 'token' })) });
    const first = await access.credentials.current();
    expect(await access.credentials.renew(first)).toBe(false);
    write('token', 'second');
    expect(await access.credentials.renew(first)).toBe(true);
    expect((await access.credentials.current()).authorization).toBe('Bearer second');
  });

  test('a token file that vanishes for a moment leaves the last token in use', async () => {
    const path = write('token', 'one');
    const access = await load({ kubeconfig: write('k', config({ tokenFile: 'token' })) });
    unlinkSync(path);
    nowMs += 5_000;
    expect((await access.credentials.current()).authorization).toBe('Bearer one');
  });

  test('user name and password, and acting as somebody', async () => {
    const access = await load({
      kubeconfig: write('k', config({ username: 'u', password: 'p', as: 'root' })),
    });
    expect((await access.credentials.current()).authorization).toBe(`Basic ${base64('u:p')}`);
    expect(access.headers).toEqual({ 'impersonate-user': 'root' });
  });
});

describe('exec plugins', () => {
  const apiVersion = 'client.authentication.k8s.io/v1';

  function plugin(script: string, more: object = {}): string {
    chmodSync(write('plugin', `#!/bin/sh\necho run >> ${dir}/runs\n${script}\n`), 0o755);
    return write('k', config({ exec: { apiVersion, command: './plugin', ...more } }));
  }
  const runs = () => readFileSync(join(dir, 'runs'), 'utf8').split('\n').length - 1;
  const print = (status: object) =>
    `echo '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'`;

  test('the result is kept until it expires, and one run serves all who wait', async () => {
    const expirationTimestamp = '2026-01-01T01:00:00Z';
    const access = await load({ kubeconfig: plugin(print({ token: 't', expirationTimestamp })) });
    const [first, second] = await Promise.all([
      access.credentials.current(),
      access.credentials.current(),
    ]);
    expect(first.authorization).toBe('Bearer t');
    expect(second).toBe(first);
    expect(await access.credentials.current()).toBe(first);
    expect(runs()).toBe(1);
    nowMs = Date.parse(expirationTimestamp) - 5_000;
    await access.credentials.current();
    expect(runs()).toBe(2);
  });

  test('a 401 runs it again; the same token again is not worth a try', async () => {
    const access = await load({
      kubeconfig: plugin(`n=$(wc -l < ${dir}/runs); [ $n -gt 2 ] && n=2
printf '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"t%s"}}' $n`),
    });
    const first = await access.credentials.current();
    expect(await access.credentials.renew(first)).toBe(true);
    const second = await access.credentials.current();
    expect(second.authorization).toBe('Bearer t2');
    expect(await access.credentials.renew(first)).toBe(true);
    expect(runs()).toBe(2);
    expect(await access.credentials.renew(second)).toBe(false);
  });

  test('it gets its arguments, its environment and the cluster', async () => {
    const access = await load({
      kubeconfig: plugin(
        `printf '{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"%s-%s-%s"}}' "$1" "$WHO" "$(echo "$KUBERNETES_EXEC_INFO" | grep -o 'https://[0-9.:]*')"`,
        { args: ['one'], env: [{ name: 'WHO', value: 'me' }], provideClusterInfo: true },
      ),
      env: { HOME: dir, PATH: process.env.PATH },
    });
    expect((await access.credentials.current()).authorization).toBe(
      'Bearer one-me-https://10.0.0.1:6443',
    );
  });

  test('a certificate pair instead of a token', async () => {
    const access = await load({
      kubeconfig: plugin(print({ clientCertificateData: 'C', clientKeyData: 'K' })),
    });
    expect(await access.credentials.current()).toMatchObject({ cert: 'C', key: 'K' });
  });

  test.each([
    ['exit 3', 'failed with exit code 3'],
    ['kill -9 $$', 'was ended by SIGKILL'],
    ['echo hello', 'printed 6 characters that are not JSON'],
    ['echo {}', `printed no ExecCredential of ${apiVersion}`],
    ['echo null', `printed no ExecCredential of ${apiVersion}`],
    [print({}), 'printed neither a token nor a certificate pair'],
    [print({ token: 't', expirationTimestamp: 'soon' }), 'an expirationTimestamp that is no time'],
  ])('a plugin that does `%s`', async (script, words) => {
    const access = await load({ kubeconfig: plugin(script) });
    const error = await refusal(Promise.resolve(access.credentials.current()));
    expect(error.message).toContain(words);
    expect(error.message).toMatch(/^The exec plugin of user "me" of .* \(line \d+\) /);
    expect(error.remedy).toContain('by hand');
  });

  test('a plugin that is not installed', async () => {
    const access = await load({
      kubeconfig: write('k', config({ exec: { apiVersion, command: 'no-such-plugin' } })),
    });
    const error = await refusal(Promise.resolve(access.credentials.current()));
    expect(error.message).toContain('(line 12) could not be started: there is no such program');
  });
});

describe('what is refused names the file, the entry and the line', () => {
  test.each<[string, object | string, string]>([
    ['no mapping', 'just text', 'is not a mapping'],
    ['no YAML', 'a:\n  b: c: [', 'FILE is not YAML: block as implicit key at line 2, column 6'],
    ['clusters that are no list', { clusters: 'x' }, 'has clusters that are no list (line 1)'],
    ['a nameless user', { users: [{ user: {} }] }, 'has a user without a name (line 2)'],
    ['no context', { contexts: [] }, 'has no current-context'],
    [
      'an unknown current context',
      { 'current-context': 'x' },
      'current-context says (FILE, line 1)',
    ],
    ['no cluster', config({}, {}, { cluster: '' }), 'context "main" of FILE names no cluster'],
    [
      'an unknown cluster',
      config({}, {}, { cluster: 'gone' }),
      'context "main" of FILE, line 14: cluster names none of the clusters of the kubeconfig, which has 1',
    ],
    [
      'an unknown user',
      config({}, {}, { user: 'gone' }),
      'line 15: user names none of the users of the kubeconfig, which has 1',
    ],
    ['no server', config({}, { server: '' }), 'cluster "site" of FILE has no server'],
    [
      'a bad server',
      config({}, { server: '10.0.0.1:6443' }),
      'line 7: server is not an http(s) URL',
    ],
    ['a proxy', config({}, { 'proxy-url': 'http://p:1' }), 'line 8: proxy-url cannot be used'],
    [
      'no base64',
      config({}, { 'certificate-authority-data': '???' }),
      'certificate-authority-data is not base64',
    ],
    [
      'no PEM',
      config({}, { 'certificate-authority-data': base64('hello') }),
      'certificate-authority-data holds no PEM block',
    ],
    [
      'a missing authority',
      config({}, { 'certificate-authority': 'missing.crt' }),
      'certificate-authority names a file that could not be read: there is no such file',
    ],
    [
      'authority and no verification',
      config({}, { 'certificate-authority-data': base64(pem), 'insecure-skip-tls-verify': true }),
      'has both certificate-authority and insecure-skip-tls-verify',
    ],
    [
      'half a certificate pair',
      config({ 'client-key-data': base64(pem) }),
      'has client-key without client-certificate',
    ],
    [
      'a token that is no text',
      config({ token: 5 }),
      'user "me" of FILE, line 11: token is not text',
    ],
    [
      'a missing token file',
      config({ tokenFile: 'gone' }),
      'line 11: tokenFile names a file that could not be read',
    ],
    ['an auth-provider', config({ 'auth-provider': { name: 'gcp' } }), 'has an auth-provider'],
    ['an exec without command', config({ exec: {} }), 'exec has no command'],
    [
      'an old exec',
      config({ exec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' } }),
      'exec has an apiVersion that is not known',
    ],
    [
      'an interactive exec',
      config({
        exec: {
          command: 'x',
          apiVersion: 'client.authentication.k8s.io/v1',
          interactiveMode: 'Always',
        },
      }),
      'interactiveMode Always',
    ],
    ['acting as groups', config({ as: 'x', 'as-groups': ['y'] }), 'has as-groups'],
  ])('%s', async (_what, content, words) => {
    const path = write('bad', content);
    const error = await refusal(load({ kubeconfig: path }));
    expect(error.message).toContain(path);
    expect(error.message).toContain(words.replace('FILE', path));
  });

  test('a file that does not exist, and a folder', async () => {
    expect((await refusal(load({ kubeconfig: join(dir, 'no') }))).message).toContain(
      'no such file',
    );
    expect((await refusal(load({ kubeconfig: dir }))).message).toContain('it is a folder');
  });
});
