/**
 * Programs of other projects, each built once by `go install` at an exact version
 * into the cache folder. What shares its modules with Kubernetes is in parts.mjs.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, say } from './checkout.mjs';
import { ensureGo } from './go.mjs';
import { withLock } from './lock.mjs';
import { withProgress } from './progress.mjs';

/** @type {Record<import('./go-tools.mjs').GoTool, { version: string; packages: string[]; aboutSeconds: number }>} */
const tools = {
  // The CNI project's own client on libcni: an outside judge of our plugin.
  cnitool: {
    version: 'v1.3.0',
    packages: ['github.com/containernetworking/cni/cnitool'],
    aboutSeconds: 40,
  },
  helm: { version: 'v4.3.1', packages: ['helm.sh/helm/v4/cmd/helm'], aboutSeconds: 120 },
  // The 2.x beside Debian's 1.x.
  containerd: {
    version: 'v2.4.2',
    packages: ['containerd', 'containerd-shim-runc-v2', 'ctr'].map(
      (name) => `github.com/containerd/containerd/v2/cmd/${name}`,
    ),
    aboutSeconds: 90,
  },
  // The version that kubeadm 1.36 installs. Only the soak builds it.
  coredns: {
    version: 'v1.14.2',
    packages: ['github.com/coredns/coredns'],
    aboutSeconds: 540,
  },
  // The plugin after ours in the chain, newer than Debian's.
  portmap: {
    version: 'v1.9.1',
    packages: ['github.com/containernetworking/plugins/plugins/meta/portmap'],
  },
};

/**
 * The folder with the programs of a tool.
 * @param {import('./go-tools.mjs').GoTool} name
 * @returns {Promise<string>}
 */
export async function ensureGoTool(name) {
  const { version, packages } = tools[name];
  const dir = join(cacheDir(), `${name}-${version}-${process.arch}`);
  const programs = packages.map((path) => join(dir, path.slice(path.lastIndexOf('/') + 1)));
  // `go install` writes elsewhere and renames: a program that is there is whole.
  const isWhole = () => programs.every((program) => existsSync(program));
  if (isWhole()) return dir;
  mkdirSync(dir, { recursive: true });
  const onWait = (/** @type {number} */ waitedMs, /** @type {number} */ owner) =>
    say(`parts: process ${owner} is building ${name}; waiting (${Math.round(waitedMs / 1000)} s)`);
  return withLock(`${dir}.lock`, onWait, async () => {
    if (!isWhole()) await install(name, dir);
    return dir;
  });
}

/** @param {import('./go-tools.mjs').GoTool} name @param {string} dir */
async function install(name, dir) {
  const { version, packages, aboutSeconds } = tools[name];
  const go = await ensureGo();
  await withProgress({ what: `building ${name} ${version}`, aboutSeconds }, async () => {
    const child = spawn(
      go.program,
      ['install', '-trimpath', '-tags=no_btrfs', ...packages.map((path) => `${path}@${version}`)],
      {
        cwd: dir,
        env: { ...go.env, GOBIN: dir, CGO_ENABLED: '0', GOFLAGS: '-modcacherw' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      words = `${words}${text}`.slice(-4000);
    });
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    process.off('exit', stop);
    if (code !== 0) {
      throw new Error(`${name} could not be built (exit ${code}):\n${words.trimEnd()}`);
    }
  });
}
