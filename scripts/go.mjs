/**
 * The Go that builds the real parts: the one in PATH if it is new enough for the module
 * in test/parts/go; else the one pinned here, which is a module itself
 * (golang.org/toolchain) and comes from the Go module proxy like everything else. It is
 * checked, unpacked under another name and renamed: a folder that exists is whole.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheDir, checkoutDir, isMain, say } from './checkout.mjs';
import { withLock } from './lock.mjs';
import { PartMissing } from './part-missing.mjs';
import { withProgress } from './progress.mjs';
import { goSum, readZip } from './zip.mjs';

const moduleDir = join(checkoutDir, 'test/parts/go');

/** With what the checksum database (sum.golang.org) says of each archive. */
const pinned = {
  version: '1.26.8',
  sums: {
    'linux-x64': 'h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=',
    'linux-arm64': 'h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=',
    'darwin-x64': 'h1:7/9KPPN8PckcA9s91hm2jmQMhzW4KyTJXHIs45L0C9M=',
    'darwin-arm64': 'h1:dFjGhY6f8DTsY8/rLchUTDRRfjJP4pCrGCwxvHFT2Fg=',
  },
};

/** What `go build` is to be had with. @returns {Promise<import('./go.mjs').Go>} */
export async function ensureGo() {
  const found = findGo();
  // HOME: Go finds none of its folders without it.
  const env = { ...process.env, HOME: process.env.HOME || homedir() };
  if (found.isInPath) return { program: 'go', version: found.version, env };
  const root = await ensureToolchain(pinned);
  return {
    program: join(root, 'bin/go'),
    version: found.version,
    // All that it writes lies in our cache folder, where removing it is easy.
    env: {
      ...env,
      GOROOT: root,
      GOTOOLCHAIN: 'local',
      GOPATH: join(cacheDir(), 'go/path'),
      GOCACHE: join(cacheDir(), 'go/build'),
    },
  };
}

/**
 * Which Go ensureGo() gives, without fetching it.
 * @returns {string}
 */
export function goVersion() {
  return findGo().version;
}

/** @returns {{ version: string; isInPath: boolean }} */
function findGo() {
  const asked = /^go (\S+)$/m.exec(readFileSync(join(moduleDir, 'go.mod'), 'utf8'))?.[1] ?? '';
  // In the module's folder, so that a Go that can fetch its successor does.
  const answer = spawnSync('go', ['env', 'GOVERSION'], { cwd: moduleDir, encoding: 'utf8' });
  const version = answer.stdout?.trim().replace(/^go/, '') ?? '';
  if (answer.status === 0 && isAtLeast(version, asked)) return { version, isInPath: true };
  return { version: pinned.version, isInPath: false };
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

/**
 * The folder of the pinned toolchain.
 * @param {{ version: string; sums: Record<string, string> }} toolchain
 * @returns {Promise<string>}
 */
export async function ensureToolchain({ version, sums }) {
  const platform = `${process.platform}-${process.arch}`;
  const sum = sums[platform];
  if (sum === undefined) {
    throw new PartMissing(`install Go ${version}: there is no pinned one for ${platform}`);
  }
  const dir = join(cacheDir(), 'go', `${version}-${platform}`);
  if (existsSync(dir)) return dir;
  const onWait = (/** @type {number} */ waitedMs, /** @type {number} */ owner) =>
    say(`parts: process ${owner} is fetching Go; waiting (${Math.round(waitedMs / 1000)} s)`);
  return withLock(`${dir}.lock`, onWait, async () => {
    if (existsSync(dir)) return dir;
    let bytes = 0;
    const detail = () => (bytes === 0 ? '' : `${Math.round(bytes / 1e6)} of about 72 MB`);
    const what = `fetching Go ${version}, as PATH has none that is new enough`;
    await withProgress({ what, aboutSeconds: 30, detail }, async () => {
      const module = `v0.0.1-go${version}.${platform.replace('x64', 'amd64')}`;
      const archive = await fetchModule(`golang.org/toolchain/@v/${module}.zip`, (more) => {
        bytes += more;
      });
      const unfinished = `${dir}.${process.pid}.tmp`;
      try {
        unpackToolchain(archive, `golang.org/toolchain@${module}/`, sum, unfinished);
        renameSync(unfinished, dir);
      } finally {
        rmSync(unfinished, { recursive: true, force: true });
      }
    });
    return dir;
  });
}

/**
 * From the first proxy of GOPROXY that has it.
 * @param {string} path
 * @param {(bytes: number) => void} onBytes
 */
async function fetchModule(path, onBytes) {
  const proxies = (process.env.GOPROXY || 'https://proxy.golang.org')
    .split(/[,|]/)
    .filter((word) => /^https?:/.test(word));
  const failures = [];
  for (const proxy of proxies) {
    const url = `${proxy.replace(/\/$/, '')}/${path}`;
    try {
      const response = await fetch(url);
      if (!response.ok || response.body === null) throw new Error(`${response.status}`);
      const pieces = [];
      for await (const piece of response.body) {
        pieces.push(piece);
        onBytes(piece.length);
      }
      return Buffer.concat(pieces);
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      failures.push(`${url}: ${cause instanceof Error ? cause.message : cause}`);
    }
  }
  const why = failures.length === 0 ? 'GOPROXY names no proxy' : failures.join('; ');
  throw new PartMissing(
    `Go is not installed and could not be fetched (${why}): install it, or set GOPROXY`,
  );
}

/**
 * @param {Buffer} archive
 * @param {string} prefix of each name in it
 * @param {string} sum
 * @param {string} folder
 */
function unpackToolchain(archive, prefix, sum, folder) {
  const files = readZip(archive).map(({ name, content }) => ({ name, content: content() }));
  const found = goSum(files.map(({ name, content }) => ({ name, content: () => content })));
  if (found !== sum) {
    throw new Error(`the Go that was fetched is not the one that is pinned: ${found}, not ${sum}`);
  }
  for (const { name, content } of files) {
    const path = name.slice(prefix.length);
    if (!name.startsWith(prefix) || path.split('/').includes('..')) {
      throw new Error(`a file that does not belong into the Go toolchain: ${name}`);
    }
    // A module's archive can hold no other module: their go.mod has another name in it.
    const target = join(folder, path.replace(/^(src\/(?:cmd\/)?)_go\.mod$/, '$1go.mod'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    // Nor does it say which files are programs.
    if (/^(bin|pkg\/tool)\//.test(path)) chmodSync(target, 0o755);
  }
}

if (isMain(import.meta.url)) process.stdout.write(`${(await ensureGo()).program}\n`);
