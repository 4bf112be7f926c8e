/** The package as it is published: what is in it, and that it works in an empty folder. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { krewManifest } from '../scripts/krew.mjs';

const root = join(import.meta.dirname, '..');
const dir = mkdtempSync(join(tmpdir(), 'cadastre-package-'));
const checkout = join(dir, 'checkout');
const installed = join(dir, 'empty/node_modules/cadastre');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  description: string;
  engines: { node: string };
  bin: Record<string, string>;
};
const { version, bin } = manifest;
const tarball = join(dir, `cadastre-${version}.tgz`);
afterAll(() => rmSync(dir, { recursive: true }));

function runIn(cwd: string, program: string, ...args: string[]) {
  const env = {
    ...process.env,
    CADASTRE_CACHE: join(dir, 'cache'),
    npm_config_cache: join(dir, 'npm'),
  };
  return spawnSync(program, args, { cwd, env, encoding: 'utf8' });
}

/** What a clone has, and in dist what a checkout that was worked in may have. */
function copyCheckout(): void {
  mkdirSync(join(checkout, 'dist/bench'), { recursive: true });
  mkdirSync(join(checkout, 'node_modules'));
  for (const name of readdirSync(root)) {
    if (/^(\.git|node_modules|dist|artefacts|test|bench)$/.test(name)) continue;
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  }
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(checkout, 'node_modules', name));
  }
  writeFileSync(join(checkout, 'node_modules/.package-lock.json'), '{}');
  writeFileSync(join(checkout, 'dist/bench/x.mjs'), '');
  const old = join(checkout, 'dist/part-old-ABCDEFGH.mjs');
  writeFileSync(old, '');
  utimesSync(old, Date.now() / 1000 - 60, Date.now() / 1000 - 60);
}

beforeAll(() => {
  copyCheckout();
  const made = runIn(checkout, process.execPath, 'scripts/package.mjs', dir);
  expect([made.status, made.stderr]).toEqual([0, expect.stringContaining(`package: ${tarball}`)]);
  mkdirSync(join(dir, 'empty'));
  const flags = ['--offline', '--omit=optional', '--no-audit', '--no-fund'];
  const got = runIn(join(dir, 'empty'), 'npm', 'install', ...flags, tarball);
  expect([got.status, got.stderr.replace(/^npm warn.*\n/gm, '')]).toEqual([0, '']);
}, 300_000);

test('it holds the program, its manual, topologies and pages, and nothing else', () => {
  const names = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  const kinds: Record<string, RegExp> = {
    parts: /^dist\/part-[\w-]+-[A-Z0-9]{8}\.mjs(\.map)?$/,
    pages: /^docs\/((?:decisions|routers|zh-CN)\/)?[\w-]+\.(md|png|svg)$/,
    topologies: /^topologies\/[\w-]+\.yaml$/,
  };
  const rest = names.filter((name) => !Object.values(kinds).some((kind) => kind.test(name)));
  expect(rest.sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'README.zh-CN.md',
    'dist/THIRD-PARTY-LICENSES',
    'dist/cadastre.1',
    'dist/cadastre.mjs',
    'dist/cadastre.mjs.map',
    'dist/console/app.css',
    'dist/console/app.js',
    'dist/console/index.html',
    'dist/third-party.json',
    'package.json',
  ]);
  expect(names).not.toContain('dist/part-old-ABCDEFGH.mjs');
  expect(names.filter((name) => kinds.topologies!.test(name))).toHaveLength(
    readdirSync(join(root, 'topologies')).length,
  );
});

test('it is small', () => {
  const megabytes = statSync(tarball).size / 1e6;
  console.log(`package: ${megabytes.toFixed(2)} MB packed`);
  expect(megabytes).toBeLessThan(2.5);
});

test('installing brings no other package, and runs nothing', () => {
  expect(
    readdirSync(join(dir, 'empty/node_modules')).filter((name) => !name.startsWith('.')),
  ).toEqual(['cadastre']);
  const shipped = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(Object.keys(shipped)).not.toContain('dependencies');
  expect(Object.keys(shipped.optionalDependencies)).toEqual(['koffi']);
  expect(Object.keys(shipped.scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual(
    [],
  );
});

test('the bundle imports only itself, Node, and koffi where it is there', () => {
  const outside = new Set<string>();
  let seen = 0;
  for (const name of readdirSync(join(installed, 'dist')).filter((one) => one.endsWith('.mjs'))) {
    const text = readFileSync(join(installed, 'dist', name), 'utf8');
    const imports = text.matchAll(
      /(?:^|[;}\n])(?:import|export)\b[^"';]*?\bfrom ?"([^"]+)"|\bimport\("([^"]+)"\)|\brequire\("([^"]+)"\)/g,
    );
    for (const [, from, late, required] of imports) {
      const what = from ?? late ?? required ?? '';
      seen++;
      const isOurs = what.startsWith('./') || what.startsWith('node:');
      if (!isOurs && !builtinModules.includes(what)) outside.add(what);
    }
  }
  expect(seen).toBeGreaterThan(500);
  expect([...outside]).toEqual([]);
});

test('npx cadastre works in the empty folder, under each of its names', () => {
  const npx = (...args: string[]) => runIn(join(dir, 'empty'), 'npx', '--no', '--', ...args);
  expect(npx('cadastre', '--version').stdout).toBe(`${version}\n`);
  const from = join(root, 'test/doctor/fixtures/incident/before');
  const doctor = npx('cadastre', 'doctor', '--from', from);
  expect(doctor.stderr.replace(/^npm warn.*\n/gm, '')).toBe('');
  expect(doctor.stdout).toMatch(/^Checked 4 nodes/);
  expect(npx('cadastre', 'lab', 'up', '--help').status).toBe(0);
  expect(Object.keys(bin)).toEqual(['cadastre', 'kubectl-cadastre', 'kubectl_complete-cadastre']);
  expect(npx('kubectl-cadastre', 'nodes', '--from', from, '-o', 'name').stdout).toContain(
    'node/master1',
  );
  expect(npx('kubectl_complete-cadastre', 'whatif', 'rem').stdout).toBe('remove-pool\n:4\n');
}, 120_000);

test('krew can install it: the manifest keeps to its rules, and the program is where it says', () => {
  const sha256 = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  const made = krewManifest(manifest, 'https://example.com/cadastre.tgz', sha256);
  const krew = parse(stringify(made)) as KrewManifest;
  // What `validate-krew-manifest` asks for (krew, internal/index/validation).
  expect(krew).toMatchObject({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: expect.stringMatching(/^[\w-]+$/) },
    spec: {
      version: expect.stringMatching(/^v\d+\.\d+\.\d+$/),
      shortDescription: expect.stringMatching(/^[^\r\n]{1,70}$/),
      caveats: expect.stringContaining(manifest.engines.node),
    },
  });
  expect(krew.spec.platforms.length).toBeGreaterThan(0);
  for (const { selector, uri, sha256: sum, files, bin: program } of krew.spec.platforms) {
    expect(selector.matchExpressions.map(({ key }) => key)).toEqual(['os']);
    expect([uri.startsWith('https://'), /^[a-f0-9]{64}$/.test(sum)]).toEqual([true, true]);
    // As krew does: unpacked, moved by `files`, linked under the plugin's name.
    const unpacked = join(dir, 'krew');
    mkdirSync(unpacked);
    expect(runIn(unpacked, 'tar', '-xzf', tarball).status).toBe(0);
    expect(files).toEqual([{ from: 'package/*', to: '.' }]);
    const link = join(dir, 'kubectl-cadastre');
    symlinkSync(join(unpacked, 'package', program), link);
    const answer = spawnSync(link, ['--version'], { encoding: 'utf8' });
    expect([answer.stdout, answer.stderr]).toEqual([`${version}\n`, '']);
  }
});

interface KrewManifest {
  spec: {
    platforms: Array<{
      selector: { matchExpressions: Array<{ key: string }> };
      uri: string;
      sha256: string;
      files: object[];
      bin: string;
    }>;
  };
}
