/** How the image is put together; test/node/image.test.ts builds and runs it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { imageSettings } from '../scripts/image/dockerfile.mjs';
import { readElf } from '../scripts/image/elf.mjs';
import { Tree } from '../scripts/image/tree.mjs';
import { supportedVersions } from '../src/agent/cni/cni-call.ts';
import { chooseConflist, conflistText } from '../src/agent/install/conflist.ts';
import { imageUser } from './node/image-user.ts';

const root = join(import.meta.dirname, '..');
const dir = mkdtempSync(join(tmpdir(), 'image-test-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe('a layer', () => {
  const long = `${'folder/'.repeat(20)}${'name'.repeat(20)}`;
  const fill = (from: string, isBackwards = false) => {
    const tree = new Tree();
    const steps = [
      () => tree.file('opt/program', from, 0o755),
      () => tree.file(long, Buffer.from('far down')),
      () => tree.link('var/run', '/run'),
      () => tree.folder('tmp', 0o1777),
    ];
    for (const step of isBackwards ? steps.reverse() : steps) step();
    return tree;
  };

  test('is the same for the same content, whenever and in whatever order it was made', () => {
    const [one, two] = ['one', 'two'].map((name) => join(dir, name)) as [string, string];
    for (const path of [one, two]) writeFileSync(path, 'the same');
    utimesSync(one, 1, 1);
    expect(fill(one).tar().equals(fill(two, true).tar())).toBe(true);
    expect(fill(one).digest()).toBe(fill(two, true).digest());
    writeFileSync(two, 'another');
    expect(fill(one).digest()).not.toBe(fill(two).digest());
  });

  test('is what tar unpacks, and what a folder is filled with', () => {
    const program = join(dir, 'program');
    writeFileSync(program, '#!');
    const tree = fill(program);
    const [unpacked, written] = [join(dir, 'unpacked'), join(dir, 'written')];
    spawnSync('mkdir', [unpacked, written]);
    const answer = spawnSync('tar', ['-xpf', '-', '-C', unpacked], { input: tree.tar() });
    expect([answer.status, String(answer.stderr)]).toEqual([0, '']);
    tree.writeTo(written);
    const compared = spawnSync('diff', ['-r', '--no-dereference', unpacked, written]);
    expect([compared.status, String(compared.stdout)]).toEqual([0, '']);
    for (const folder of [unpacked, written]) {
      expect(readFileSync(join(folder, long), 'utf8')).toBe('far down');
      expect(statSync(join(folder, 'opt/program')).mode & 0o7777).toBe(0o755);
      expect(statSync(join(folder, 'tmp')).mode & 0o7777).toBe(0o1777);
    }
  });

  test('refuses a name that a tar cannot hold', () => {
    const tree = new Tree();
    tree.file('x'.repeat(101), Buffer.alloc(0));
    expect(() => tree.tar()).toThrow('a tar cannot name xxx');
  });
});

test('what a program loads is read from the program', () => {
  if (process.platform !== 'linux') return;
  const { needed, loader } = readElf(process.execPath);
  expect(needed.some((name) => /^libc\./.test(name))).toBe(true);
  expect(loader).toMatch(/^\/lib/);
  expect(() => readElf(import.meta.filename)).toThrow('is no 64-bit ELF file');
});

describe('deploy/Dockerfile', () => {
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');

  test('names no base image by a tag, which can be moved', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(bases.join(' ')).toMatch(/^\$\{NODE_IMAGE\} scratch$/);
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

  test('copies the layers that the script made, and nothing else', () => {
    const [, last = ''] = dockerfile.split('\nFROM scratch\n');
    expect(dockerfile).toContain('RUN node scripts/image.mjs --root /image\n');
    expect(last.match(/^(COPY|RUN|ADD) .*$/gm)).toEqual(
      ['base', 'nft', 'cadastre'].map((name) => `COPY --from=build /image/${name} /`),
    );
  });

  test('has the settings of the image', () => {
    const settings = imageSettings({ VERSION: '1.2.3' });
    expect(settings).toMatchObject({
      Entrypoint: ['/usr/local/bin/node', '/opt/cadastre/dist/cadastre.mjs'],
      Env: ['PATH=/usr/local/bin:/usr/sbin:/usr/bin'],
      WorkingDir: '/',
      Labels: {
        'org.opencontainers.image.version': '1.2.3',
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    });
    // A user without rights, whom Kubernetes can tell from root by number.
    expect(settings.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(settings.User).toBe(imageUser());
  });
});

test('the configuration that is installed is the one on the page', () => {
  const page = readFileSync(join(root, 'docs/cni.md'), 'utf8');
  const [, shown = ''] =
    /`\/etc\/cni\/net\.d\/10-cadastre\.conflist`:\s+```json\n(.*?)```/s.exec(page) ?? [];
  const choice = chooseConflist({ isThere: true, versions: supportedVersions });
  expect(shown).toBe(conflistText(choice));
});
