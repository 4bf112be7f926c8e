/**
 * The real parts of a cluster, built from the Go module proxy by the module in
 * test/parts/go and kept in the cache folder, so that one build serves every
 * checkout: `kube` is what an API server needs, `cluster` what comes with nodes.
 *
 * The folder's name is a hash of everything that shapes the binaries. It is
 * filled under another name and renamed when complete: a folder that exists is
 * whole. `KUBEBUILDER_ASSETS`, if set, wins, as everywhere in this field.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cacheDir, checkoutDir, isMain, say } from './checkout.mjs';
import { ensureGo, goVersion } from './go.mjs';
import { withLock } from './lock.mjs';
import { PartMissing } from './part-missing.mjs';
import { withProgress } from './progress.mjs';

const moduleDir = join(checkoutDir, 'test/parts/go');

/** Name in the folder, package it is built from, name `go build` gives it. */
const kubeParts = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3', built: 'server' },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
];
const clusterParts = [
  { name: 'kube-scheduler', package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  { name: 'kubelet', package: 'k8s.io/kubernetes/cmd/kubelet' },
  { name: 'kube-proxy', package: 'k8s.io/kubernetes/cmd/kube-proxy' },
  { name: 'agnhost', package: 'k8s.io/kubernetes/test/images/agnhost' },
];

/** How long a build takes on two cores with empty caches, fetching included. */
const aboutSeconds = /** @type {Record<string, number>} */ ({ kube: 300, cluster: 150 });

/**
 * The folder with etcd, kube-apiserver, kube-controller-manager and kubectl.
 * @returns {Promise<string>}
 */
export async function ensureKubeParts() {
  const given = process.env.KUBEBUILDER_ASSETS;
  if (!given) return buildParts('kube', kubeParts);
  const absent = kubeParts.filter((part) => !existsSync(join(given, part.name)));
  if (absent.length === 0) return given;
  throw new PartMissing(
    `KUBEBUILDER_ASSETS=${given} has no ${absent.map((part) => part.name).join(', ')}: add it there, or unset the variable to have all four built`,
  );
}

/**
 * The folder with kube-scheduler, kubelet, kube-proxy and agnhost.
 * @returns {Promise<string>}
 */
export async function ensureClusterParts() {
  return buildParts('cluster', clusterParts);
}

/**
 * Kubernetes' own end-to-end tests as one program. Only the soak builds it.
 * @returns {Promise<string>} its path
 */
export async function ensureE2eTest() {
  const flags = kubeFlags();
  const part = { name: 'e2e.test', package: 'k8s.io/kubernetes/test/e2e' };
  const dir = await buildOnce(
    'e2e',
    [flags.join(' '), part.package],
    (into) => goBuild(into, flags, [part], 420, ['test', '-c']),
    moduleDir,
  );
  return join(dir, part.name);
}

/**
 * The tests of container runtimes, of cri-tools, as one program. Only the soak builds it.
 * @returns {Promise<string>} its path
 */
export async function ensureCritest() {
  const flags = ['-trimpath', '-ldflags', '-s -w'];
  const part = { name: 'critest.test', package: 'sigs.k8s.io/cri-tools/cmd/critest' };
  const module = join(checkoutDir, 'test/parts/critest');
  const dir = await buildOnce(
    'critest',
    [...flags, part.package],
    (into) => goBuild(into, flags, [part], 90, ['test', '-c'], module),
    module,
  );
  return join(dir, part.name);
}

/** Without the clients of two dozen clouds: the sites it scrapes here are listed in its configuration. */
const prometheusFlags = ['-trimpath', '-tags=remove_all_sd', '-ldflags', '-s -w'];
const prometheusParts = ['prometheus', 'promtool'].map((name) => ({
  name,
  package: `github.com/prometheus/prometheus/cmd/${name}`,
}));
const prometheusInputs = [...prometheusFlags, ...prometheusParts.map((part) => part.package)];
const prometheusModule = join(checkoutDir, 'test/parts/prometheus');

/**
 * The folder with prometheus and promtool. Only the soak builds them.
 * @returns {Promise<string>}
 */
export async function ensurePrometheus() {
  return buildOnce(
    'prometheus',
    prometheusInputs,
    (into) => goBuild(into, prometheusFlags, prometheusParts, 180, undefined, prometheusModule),
    prometheusModule,
  );
}

/**
 * The same folder if it was built already.
 * @returns {string | undefined}
 */
export function builtPrometheus() {
  const dir = builtFolder('prometheus', prometheusInputs, prometheusModule);
  return existsSync(dir) ? dir : undefined;
}

/** @param {string} label @param {{ name: string; package: string; built?: string }[]} parts */
async function buildParts(label, parts) {
  const flags = kubeFlags();
  const inputs = [flags.join(' '), ...parts.map((part) => part.package)];
  const build = async (/** @type {string} */ dir) => {
    await goBuild(dir, flags, parts, aboutSeconds[label] ?? 60);
    for (const part of parts) {
      if (part.built) renameSync(join(dir, part.built), join(dir, part.name));
    }
  };
  return buildOnce(label, inputs, build, moduleDir);
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
  const dir = await buildOnce(
    name,
    inputs,
    (into) => goBuild(into, flags, [{ name, package: `./cmd/${name}` }], 60),
    moduleDir,
  );
  return join(dir, name);
}

/**
 * Where what is made of these inputs is, or would be.
 * @param {string} label
 * @param {string[]} inputs
 * @param {string | undefined} module its folder, unless the inputs say it all
 */
export function builtFolder(label, inputs, module = undefined) {
  const hash = createHash('sha256');
  for (const file of module === undefined ? [] : ['go.mod', 'go.sum']) {
    hash.update(readFileSync(join(/** @type {string} */ (module), file)));
  }
  for (const input of [goVersion(), process.platform, process.arch, ...inputs]) {
    hash.update(`\0${input}`);
  }
  return join(cacheDir(), 'parts', `${label}-${hash.digest('hex').slice(0, 16)}`);
}

/**
 * @param {string} label
 * @param {string[]} inputs
 * @param {(dir: string) => Promise<void>} build
 * @param {string | undefined} module its folder, unless the inputs say it all
 */
export async function buildOnce(label, inputs, build, module) {
  const dir = builtFolder(label, inputs, module);
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
 * @param {number} aboutSeconds
 * @param {string[]} command `-v` makes `go build` name each package
 * @param {string} module its folder
 */
export async function goBuild(
  dir,
  flags,
  parts,
  aboutSeconds,
  command = ['build', '-v'],
  module = moduleDir,
) {
  const go = await ensureGo();
  const names = parts.map((part) => part.name).join(', ');
  let modules = 0;
  let packages = 0;
  const detail = () => `${modules} modules fetched, ${packages} packages compiled`;
  await withProgress({ what: `building ${names}`, aboutSeconds, detail }, async () => {
    const child = spawn(
      go.program,
      [...command, ...flags, '-o', `${dir}/`, ...parts.map((part) => part.package)],
      {
        cwd: module,
        env: { ...go.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false -modcacherw' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    // -v names each package as it is compiled; anything else is worth keeping
    // for the error. Packages already in Go's cache are not named.
    /** @type {string[]} */
    const words = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.startsWith('go: downloading ')) modules++;
      else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) packages++;
      else words.push(line);
    });
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    process.off('exit', stop);
    if (code !== 0) {
      throw new Error(
        `go build of ${names} failed (exit ${code}):\n${words.slice(-30).join('\n')}`,
      );
    }
  });
}

if (isMain(import.meta.url)) {
  try {
    process.stdout.write(`${await ensureKubeParts()}\n`);
  } catch (error) {
    say(`parts: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
