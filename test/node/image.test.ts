/** The image of this checkout: built, imported into real containerds, and run from there. */
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/checkout.mjs';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { readElf } from '../../scripts/image/elf.mjs';
import { type Architecture, ensureImage, type Image, writeRoots } from '../../scripts/image.mjs';
import { ensureShim } from '../../scripts/shim.mjs';
import { Containerd } from './containerd.ts';
import { importImage } from './image-root.ts';

// What is not in the cache yet is fetched and packed first.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'image-')));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const version = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8')).version;

/** Its layers, one over the other, as a runtime would have them. */
function unpack(image: Image, architecture: Architecture, folder: string): string {
  const layout = `${folder}-layout`;
  for (const path of [layout, folder]) mkdirSync(path);
  execFileSync('tar', ['-xf', image.file, '-C', layout]);
  const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'));
  const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
  const [first] = json(join(layout, 'index.json')).manifests;
  const list = first.platform ? [first] : json(blob(first.digest)).manifests;
  const { digest } = list.find(
    (one: { platform: { architecture: string } }) => one.platform.architecture === architecture,
  );
  for (const layer of json(blob(digest)).layers) {
    execFileSync('tar', ['-xpzf', blob(layer.digest), '-C', folder]);
  }
  return folder;
}

/** Every path below a folder, as `path mode` or `path -> target`. */
function listing(folder: string): string[] {
  // Node 20 follows links to folders.
  const isOwn = (path: string) => realpathSync(dirname(path)) === dirname(path);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => isOwn(join(folder, path)))
    .map((path) => {
      const stats = lstatSync(join(folder, path));
      if (stats.isSymbolicLink()) return `${path} -> ${readlinkSync(join(folder, path))}`;
      return `${path} ${(stats.mode & 0o7777).toString(8)}`;
    })
    .sort();
}

/** Files that a kernel would start. */
const programsIn = (folder: string) =>
  listing(folder)
    .filter((line) => / [0-7]*[1357][0-7]*$/.test(line))
    .map((line) => line.slice(0, line.lastIndexOf(' ')))
    .filter((path) => lstatSync(join(folder, path)).isFile());

let image: Image;
let root: string;
beforeAll(async () => {
  image = await ensureImage();
  root = unpack(image, process.arch === 'arm64' ? 'arm64' : 'amd64', join(dir, 'root'));
});

test('is the same when it is made again', async () => {
  expect((await ensureImage()).digest).toBe(image.digest);
  expect(image.reference).toBe(`docker.io/library/cadastre:${version}`);
});

test('holds no shell and no package manager: these programs alone', () => {
  const loader = /^usr\/lib\/[^/]+\/ld-linux-[\w-]+\.so\.\d$/;
  expect(programsIn(root).filter((path) => !loader.test(path))).toEqual([
    'opt/cadastre/cni/cadastre',
    'opt/cadastre/dist/cadastre.mjs',
    'usr/local/bin/cadastre',
    'usr/local/bin/node',
    'usr/sbin/nft',
  ]);
  expect(lstatSync(join(root, 'tmp')).mode & 0o7777).toBe(0o1777);
});

test('has the tree that deploy/Dockerfile copies', async () => {
  const folder = join(dir, 'layers');
  await writeRoots(folder);
  const whole = join(dir, 'copied');
  mkdirSync(whole);
  for (const layer of ['base', 'nft', 'cadastre']) {
    execFileSync('cp', ['-a', `${join(folder, layer)}/.`, whole]);
  }
  expect(listing(whole)).toEqual(listing(root));
  await expect(writeRoots(folder)).rejects.toThrow('is not empty');
});

test('is as small as docs/image.md says', () => {
  const page = readFileSync(join(checkoutDir, 'docs/image.md'), 'utf8');
  const limits = new Map(
    [...page.matchAll(/^\| `(\w+)` .*\| +(\d+) MB +\| +(\d+) MB +\|$/gm)].map(
      ([, name = '', size, packed]) => [name, { size: Number(size), packed: Number(packed) }],
    ),
  );
  for (const { name, size, packed } of image.sizes[0]?.layers ?? []) {
    const limit = limits.get(name);
    if (limit === undefined) throw new Error(`docs/image.md has no row for the layer ${name}`);
    console.log(`${name}: ${(size / 1e6).toFixed(1)} MB, packed ${(packed / 1e6).toFixed(1)} MB`);
    expect(size / 1e6, name).toBeLessThan(limit.size);
    expect(packed / 1e6, name).toBeLessThan(limit.packed);
  }
  expect(limits.size).toBe(3);
});

/** Everything that is loaded is in the image, for the processor that it is for. */
function expectWhole(folder: string, machine: number): void {
  const triplet = readdirSync(join(folder, 'usr/lib')).find((name) => name.endsWith('-gnu'));
  const libraries = join(folder, 'usr/lib', triplet!);
  const koffi = readdirSync(join(folder, 'opt/cadastre/node_modules/@koromix'), {
    recursive: true,
    encoding: 'utf8',
  }).filter((path) => path.endsWith('koffi.node'));
  expect(koffi).toHaveLength(1);
  const binaries = [
    ...['usr/local/bin/node', 'usr/sbin/nft', 'opt/cadastre/cni/cadastre'],
    ...koffi.map((path) => join('opt/cadastre/node_modules/@koromix', path)),
    ...readdirSync(libraries).map((name) => join('usr/lib', triplet!, name)),
  ];
  for (const path of binaries) {
    const { needed, loader } = readElf(join(folder, path));
    for (const name of needed) expect(readdirSync(libraries), path).toContain(name);
    if (loader !== undefined) {
      const [, name] = /^\/(lib\w*\/.*)$/.exec(loader) ?? [];
      expect(realpathSync(join(folder, 'usr', name!)), path).toContain(libraries);
    }
    const header = readFileSync(join(folder, path)).subarray(0, 20);
    expect(header.readUInt16LE(18), path).toBe(machine);
  }
  const has = new Set(listing(folder).map((line) => line.split(' ')[0]));
  const listed = JSON.parse(
    readFileSync(join(folder, 'opt/cadastre/dist/image-packages.json'), 'utf8'),
  ) as Array<{ name: string; texts: string[]; license: string }>;
  for (const { name, texts, license } of listed) {
    for (const text of texts) expect(has, name).toContain(text.slice(1));
    expect(license, name).not.toBe('');
  }
}

const machines = { amd64: 62, arm64: 183 };

test('holds every library that its programs load, and the licence of each', () => {
  expectWhole(root, machines[process.arch === 'arm64' ? 'arm64' : 'amd64']);
});

const hasCrossCompiler = ensureShim('arm64') !== undefined;
test.runIf(hasCrossCompiler)('is made for amd64 and arm64 under one name', async () => {
  const both = await ensureImage({ architectures: ['amd64', 'arm64'] });
  expectWhole(unpack(both, 'arm64', join(dir, 'arm64')), machines.arm64);
  expectWhole(unpack(both, 'amd64', join(dir, 'amd64')), machines.amd64);
});
if (!hasCrossCompiler) {
  test.skip('arm64: the CNI plugin needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross', () => {});
}

describe.each([
  { name: "Debian's containerd", programs: async () => '/usr/bin' },
  { name: 'containerd 2', programs: () => ensureGoTool('containerd') },
])('in $name', ({ name, programs }) => {
  let containerd: Containerd;
  beforeAll(async () => {
    vi.stubEnv('PATH', `${await programs()}:${process.env.PATH}`);
    containerd = await Containerd.start(join(dir, name.replaceAll(/\W/g, '')));
    await importImage(containerd);
  });
  afterAll(async () => {
    await containerd?.stop();
    vi.unstubAllEnvs();
  });

  let count = 0;
  /** As the image's own user, with a root folder that cannot be written to. */
  const run = (...words: string[]) => {
    const saved = join(checkoutDir, 'test/cli/fixtures/incident');
    const mount = `type=bind,src=${saved},dst=/saved,options=rbind:ro`;
    const flags = ['--rm', '--read-only', '--mount', mount];
    return containerd.ctr('run', ...flags, image.reference, `run-${count++}`, ...words);
  };

  test('it runs as a user without rights', async () => {
    expect(await run('cadastre', '--version')).toBe(`${version}\n`);
    expect(await run('node', '-p', 'process.getuid() + ":" + process.getgid()')).toBe(
      '65532:65532\n',
    );
    expect(await run('nft', '--version')).toContain('nftables');
  });

  test('it looks at a saved cluster', async () => {
    expect(await run('cadastre', 'nodes', '--from', '/saved', '-o', 'name')).toContain('node1');
    // Exit code 1: it has findings.
    const doctor = await run('cadastre', 'doctor', '--from', '/saved').catch(
      (error: { stdout: string }) => error.stdout,
    );
    expect(doctor).toContain('10.5.115.0/24');
  });

  test('nothing in it can be written', async () => {
    const write = "require('fs').writeFileSync('/tmp/x', '')";
    await expect(run('node', '-e', write)).rejects.toThrow('EROFS');
  });

  test('it says what it is made of', async () => {
    const { components } = JSON.parse(await run('cadastre', 'sbom'));
    const purls = components.map(({ purl }: { purl: string }) => purl).join('\n');
    for (const part of ['pkg:npm/koffi@', 'pkg:generic/node@24', 'pkg:deb/debian/nftables@']) {
      expect(purls).toContain(part);
    }
    const texts = await run('cadastre', 'licenses', '--full');
    expect(texts).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
    for (const { name, version: each } of components) expect(texts).toContain(`${name} ${each} (`);
  });
});
