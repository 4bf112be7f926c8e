/**
 * The real parts: kube-apiserver, kube-controller-manager, kubectl and etcd,
 * built from the Go module proxy by the module in test/parts/go and kept in
 * the cache folder, so that one build serves every checkout.
 *
 * The folder's name is a hash of everything that shapes the binaries. It is
 * filled under another name and renamed when complete: a folder that exists is
 * whole. `KUBEBUILDER_ASSETS`, if set, wins, as everywhere in this field.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cacheDir, checkoutDir, isMain, say, secondsSince } from './checkout.mjs';
import { withLock } from './lock.mjs';

const moduleDir = join(checkoutDir, 'test/parts/go');

/** Name in the folder, package it is built from, name `go build` gives it. */
const kubeParts = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3', built: 'server' },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
];

/** Why a part cannot be had on this machine; the message says what to do. */
export class PartMissing extends Error {}

/**
 * The folder with the four binaries; built first if need be.
 * @returns {Promise<string>}
 */
export async function ensureKubeParts() {
  const given = process.env.KUBEBUILDER_ASSETS;
  if (given) {
    const absent = kubeParts.filter((part) => !existsSync(join(given, part.name)));
    if (absent.length === 0) return given;
    throw new PartMissing(
      `KUBEBUILDER_ASSETS=${given} has no ${absent.map((part) => part.name).join(', ')}: add it there, or unset the variable to have all four built`,
    );
  }
  const flags = kubeFlags();
  const inputs = [flags.join(' '), ...kubeParts.map((part) => part.package)];
  return buildOnce('kube', inputs, async (dir) => {
    await goBuild(dir, flags, kubeParts);
    for (const part of kubeParts) {
      if (part.built) renameSync(join(dir, part.built), join(dir, part.name));
    }
  });
}

/**
 * A Go program of our own, test/parts/go/cmd/NAME, as the path of its binary.
 * @param {string} name
 * @returns {Promise<string>}
 */
export async function ensureGoCommand(name) {
  const source = join(moduleDir, 'cmd', name);
  if (!existsSync(source)) throw new Error(`no Go program at ${source}`);
  const flags = ['-trimpath', '-ldflags', '-s -w'];
  const inputs = [
    ...flags,
    ...readdirSync(source, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => `${file.slice(source.length)}\n${readFileSync(file, 'utf8')}`),
  ];
  const dir = await buildOnce(name, inputs, (into) =>
    goBuild(into, flags, [{ name, package: `./cmd/${name}` }]),
  );
  return join(dir, name);
}

/**
 * @param {string} label
 * @param {string[]} inputs
 * @param {(dir: string) => Promise<void>} build
 */
async function buildOnce(label, inputs, build) {
  const goVersion = checkGo();
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDir, file)));
  for (const input of [goVersion, process.platform, process.arch, ...inputs]) {
    hash.update(`\0${input}`);
  }
  const parts = join(cacheDir(), 'parts');
  const dir = join(parts, `${label}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(dir)) return dir;
  const onWait = (/** @type {number} */ waitedMs, /** @type {number} */ owner) =>
    say(`parts: process ${owner} is building ${label}; waiting (${Math.round(waitedMs / 1000)} s)`);
  return withLock(`${dir}.lock`, onWait, async () => {
    if (existsSync(dir)) return dir;
    const unfinished = `${dir}.${process.pid}.tmp`;
    mkdirSync(unfinished, { recursive: true });
    try {
      await build(unfinished);
      renameSync(unfinished, dir);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
    return dir;
  });
}

/** The version of Go, once it is known to be new enough for the module. */
function checkGo() {
  const asked = /^go (\S+)$/m.exec(readFileSync(join(moduleDir, 'go.mod'), 'utf8'))?.[1] ?? '';
  const remedy = `install Go ${asked} or newer, or point KUBEBUILDER_ASSETS at a folder with ${kubeParts.map((part) => part.name).join(', ')}`;
  // In the module's folder, so that a Go that can fetch its successor does.
  const answer = spawnSync('go', ['env', 'GOVERSION'], { cwd: moduleDir, encoding: 'utf8' });
  if (answer.error) throw new PartMissing(`Go is not installed (no \`go\` in PATH): ${remedy}`);
  const found = answer.stdout.trim().replace(/^go/, '');
  if (answer.status !== 0) {
    throw new PartMissing(`Go does not work here: ${answer.stderr.trim()}: ${remedy}`);
  }
  if (!isAtLeast(found, asked)) throw new PartMissing(`Go ${found} is too old: ${remedy}`);
  return found;
}

/** @param {string} found @param {string} asked */
function isAtLeast(found, asked) {
  const [a, b] = [found, asked].map((version) => version.split(/[^0-9]+/).map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** A module build carries no git tags: without these, /version says v0.0.0-master. */
function kubeFlags() {
  const goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8');
  const version = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\S*)/.exec(goMod);
  if (!version) throw new Error(`no k8s.io/kubernetes in ${moduleDir}/go.mod`);
  const facts = {
    gitVersion: version[1],
    gitMajor: version[2],
    gitMinor: version[3],
    gitCommit: 'module',
    gitTreeState: 'clean',
  };
  const settings = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap(
    (place) => Object.entries(facts).map(([name, value]) => `-X ${place}.${name}=${value}`),
  );
  return ['-trimpath', '-ldflags', ['-s', '-w', ...settings].join(' ')];
}

/**
 * @param {string} dir
 * @param {string[]} flags
 * @param {{ name: string; package: string }[]} parts
 */
async function goBuild(dir, flags, parts) {
  const start = performance.now();
  const names = parts.map((part) => part.name).join(', ');
  say(`parts: building ${names} from ${moduleDir} (once; several minutes with an empty Go cache)`);
  const child = spawn(
    'go',
    ['build', '-v', ...flags, '-o', `${dir}/`, ...parts.map((part) => part.package)],
    {
      cwd: moduleDir,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);

  // -v names each package as it is compiled; anything else is worth keeping
  // for the error. Packages already in Go's cache are not named.
  let modules = 0;
  let packages = 0;
  /** @type {string[]} */
  const words = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.startsWith('go: downloading ')) modules++;
    else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) packages++;
    else words.push(line);
  });
  const progress = setInterval(() => {
    const linking = packages > 0 || performance.now() - start > 20_000 ? '' : ', reading the cache';
    say(
      `parts: ${secondsSince(start)}: ${modules} modules fetched, ${packages} packages compiled${linking}`,
    );
  }, 10_000);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(progress);
  process.off('exit', stop);
  if (code !== 0) {
    throw new Error(`go build of ${names} failed (exit ${code}):\n${words.slice(-30).join('\n')}`);
  }
  say(
    `parts: built ${names} in ${secondsSince(start)} (${modules} modules fetched, ${packages} packages compiled)`,
  );
}

if (isMain(import.meta.url)) {
  try {
    process.stdout.write(`${await ensureKubeParts()}\n`);
  } catch (error) {
    say(`parts: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
