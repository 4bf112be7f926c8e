/** What deploy/Dockerfile puts into an image, run from a folder of its own. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fillImage } from '../scripts/image.mjs';
import { ensureShim } from '../scripts/shim.mjs';
import { imageUser } from './node/image-user.ts';

const root = join(import.meta.dirname, '..');
const dir = mkdtempSync(join(tmpdir(), 'image-test-'));
afterAll(() => rmSync(dir, { recursive: true }));
const image = join(dir, 'opt/cadastre');

function run(command: string, args: string[]) {
  // Nothing of the checkout is within reach.
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', cwd: dir });
  return { code: status, out: stdout, err: stderr };
}

const hasCompiler = ensureShim() !== undefined;
if (!hasCompiler) test.skip('an image: there is no C compiler here', () => undefined);

describe.runIf(hasCompiler)('an image', () => {
  beforeAll(() => fillImage(image), 120_000);

  test('holds the whole program', { timeout: 60_000 }, () => {
    const cadastre = (...args: string[]) => run(join(image, 'dist/cadastre.mjs'), args);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(cadastre('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
    expect(cadastre('agent', '--help').out).toContain('cadastre agent --node-name node1');
    const incident = join(root, 'test/cli/fixtures/incident');
    expect(cadastre('nodes', '--from', incident, '-o', 'name').out).toContain('node1');
    expect(readdirSync(join(image, 'dist'))).not.toContain('bench');
    expect(readdirSync(join(image, 'topologies'))).toContain('incident.yaml');
  });

  test('its kernel hands find their native part', { timeout: 60_000 }, () => {
    const load = "console.log(typeof require('koffi').load(null).func('int getpid()'))";
    const answer = spawnSync(process.execPath, ['-e', load], { cwd: join(image, 'dist') });
    expect([answer.status, String(answer.stdout), String(answer.stderr)]).toEqual([
      0,
      'function\n',
      '',
    ]);
  });

  test('is not mixed with what is there', async () => {
    await expect(fillImage(image)).rejects.toThrow('is not empty');
  });

  test('installs the plugin, replaces an older one, and keeps a configuration', () => {
    const [bin, conf] = [join(dir, 'bin'), join(dir, 'net.d')];
    const install = () => run(join(image, 'cni/install.sh'), [bin, conf]);
    expect(install()).toMatchObject({ code: 1, err: expect.stringContaining(bin) });
    for (const folder of [bin, conf]) mkdirSync(folder);
    writeFileSync(join(bin, 'cadastre'), 'an older one');
    expect(install()).toMatchObject({ code: 0, err: '' });
    expect(statSync(join(bin, 'cadastre')).mode & 0o777).toBe(0o755);
    const asked = spawnSync(join(bin, 'cadastre'), {
      env: { CNI_COMMAND: 'VERSION' },
      input: '{}',
    });
    expect(JSON.parse(asked.stdout.toString()).supportedVersions).toContain('1.1.0');
    const conflist = join(conf, '10-cadastre.conflist');
    expect(JSON.parse(readFileSync(conflist, 'utf8')).plugins[0]).toEqual({ type: 'cadastre' });
    writeFileSync(conflist, 'mine');
    expect(install().out).toContain(`kept ${conflist}`);
    expect(readFileSync(conflist, 'utf8')).toBe('mine');
    expect([...readdirSync(bin), ...readdirSync(conf)]).toEqual([
      'cadastre',
      '10-cadastre.conflist',
    ]);
    expect(run(join(image, 'cni/install.sh'), [])).toMatchObject({ code: 2 });
  });

  test('lies where deploy/agent.yaml looks for it', () => {
    const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
    expect(dockerfile).toContain('scripts/image.mjs /opt/cadastre');
    const documents = parseAllDocuments(readFileSync(join(root, 'deploy/agent.yaml'), 'utf8'));
    const { spec } = documents.map((one) => one.toJS()).find(({ kind }) => kind === 'DaemonSet');
    const [{ command, volumeMounts }] = spec.template.spec.initContainers;
    const [program, ...folders] = command;
    expect(existsSync(join(dir, program))).toBe(true);
    expect(folders).toEqual(volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath));
  });
});

describe('deploy/Dockerfile', () => {
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');

  test('names no base image by a tag, which can be moved', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(bases).toHaveLength(2);
    for (const base of bases) expect(base).toMatch(/^\$\{NODE_IMAGE\}$/);
    // A default would have to be a digest that somebody has verified.
    for (const [, value = ''] of dockerfile.matchAll(/^ARG NODE_IMAGE(=.*)?$/gm)) {
      expect(value).toMatch(/^$|@sha256:[0-9a-f]{64}$/);
    }
  });

  test('refuses a base image that is given by a tag', () => {
    const [, guard = ''] = /^RUN (case (?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
    const build = (image: string) =>
      spawnSync('sh', ['-c', guard], { env: { NODE_IMAGE: image }, encoding: 'utf8' });
    const byTag = build('node:24-bookworm-slim');
    expect([byTag.status, byTag.stderr]).toEqual([
      1,
      'NODE_IMAGE=node:24-bookworm-slim is a tag: give a digest, like node:24-bookworm-slim@sha256:…\n',
    ]);
    const byDigest = build(`node:24-bookworm-slim@sha256:${'0'.repeat(64)}`);
    expect([byDigest.status, byDigest.stderr]).toEqual([0, '']);
  });

  test('runs as a user without rights, whom Kubernetes can tell from root by number', () => {
    expect(imageUser()).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(dockerfile.lastIndexOf('USER ')).toBeGreaterThan(dockerfile.lastIndexOf('RUN '));
  });
});

test('the configuration that is installed is the one on the page', () => {
  const page = readFileSync(join(root, 'docs/cni.md'), 'utf8');
  const [, shown = ''] =
    /`\/etc\/cni\/net\.d\/10-cadastre\.conflist`:\s+```json\n(.*?)```/s.exec(page) ?? [];
  const installed = readFileSync(join(root, 'cni/10-cadastre.conflist'), 'utf8');
  expect(JSON.parse(shown)).toEqual(JSON.parse(installed));
});
