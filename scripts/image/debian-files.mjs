/**
 * Files of Debian packages, with the package that each comes from. Of this machine's
 * architecture they are those installed here; of another one the same packages are
 * downloaded, with a package list of their own, and unpacked in the cache folder.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, say, secondsSince } from '../checkout.mjs';
import { withLock } from '../lock.mjs';

/** @type {Record<import('../image.mjs').Architecture, string>} */
export const triplets = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

const fields = ['Package', 'Version', 'Architecture', 'Maintainer', 'Source'];

/**
 * @typedef {{ name: string; version: string; control: string; copyright: string }} DebianPackage
 * @typedef {{ find: (path: string) => string;
 *   packagesOf: (paths: string[]) => DebianPackage[] }} DebianFiles
 *   Paths are those in the image; `find` tells where such a file lies here.
 */

/** The package lists name files as they were before /lib became a link to /usr/lib. @param {string} path */
const spellings = (path) => [path, path.replace(/^usr\//, '')];

/** Of packages that are installed here. @returns {DebianFiles} */
export function installedFiles() {
  if (!existsSync('/etc/debian_version')) {
    throw new Error('the image is made of files of Debian packages, and this is not Debian');
  }
  return {
    find: (path) => {
      if (!existsSync(`/${path}`)) throw new Error(`there is no /${path}: install its package`);
      return `/${path}`;
    },
    packagesOf: (paths) => {
      const names = paths.flatMap(spellings).map((path) => `/${path}`);
      // It fails when one of the spellings is unknown, and names the packages of all others.
      const { stdout } = spawnSync('dpkg', ['-S', ...names], { encoding: 'utf8' });
      const owners = new Map(
        stdout.split('\n').map((line) => {
          const [owner = '', path = ''] = line.split(': ');
          return [path.slice(1), owner];
        }),
      );
      return paths.map((path) => {
        const [owner] = spellings(path).flatMap((one) => owners.get(one) ?? []);
        if (owner === undefined) throw new Error(`/${path} belongs to no Debian package`);
        return installedPackage(owner);
      });
    },
  };
}

/** @type {Map<string, DebianPackage>} */
const known = new Map();

/** @param {string} owner as dpkg names it: `libc6:amd64` */
export function installedPackage(owner) {
  const format = fields.map((field) => `${field}: \${${field}}\\n`).join('');
  const found =
    known.get(owner) ??
    describe(owner.replace(/:.*/, ''), must('dpkg-query', ['-W', '-f', format, owner]));
  known.set(owner, found);
  return found;
}

/**
 * Its licence is the one that is installed here, for every architecture: some packages have
 * theirs in a package beside them.
 * @param {string} name @param {string} control @returns {DebianPackage}
 */
function describe(name, control) {
  const version = /^Version: (.*)$/m.exec(control)?.[1] ?? '';
  const copyright = `/usr/share/doc/${name}/copyright`;
  if (!existsSync(copyright)) throw new Error(`the licence of ${name}, ${copyright}, is missing`);
  // dpkg-query writes a field that is absent, too.
  return { name, version, control: control.replace(/^\w+: \n/gm, ''), copyright };
}

/**
 * Of the same packages for another architecture.
 * @param {import('../image.mjs').Architecture} architecture
 * @param {DebianPackage[]} installed those of this machine
 * @returns {Promise<DebianFiles>}
 */
export async function downloadedFiles(architecture, installed) {
  const folder = await ensureUnpacked(architecture, installed);
  const names = readdirSync(folder).filter((name) => !name.endsWith('.deb'));
  const holderOf = (/** @type {string} */ path) => {
    for (const name of names) {
      const file = spellings(path)
        .map((one) => join(folder, name, one))
        .find((one) => existsSync(one));
      if (file !== undefined) return { name, file };
    }
    throw new Error(`no Debian package of ${architecture} that was downloaded has /${path}`);
  };
  return {
    find: (path) => holderOf(path).file,
    packagesOf: (paths) =>
      paths.map((path) => {
        const { name } = holderOf(path);
        return describe(name, must('dpkg-deb', ['-f', join(folder, `${name}.deb`), ...fields]));
      }),
  };
}

/**
 * Kept until one of this machine's packages is upgraded.
 * @param {string} architecture @param {DebianPackage[]} installed
 */
async function ensureUnpacked(architecture, installed) {
  const wanted = installed.map(({ name, version }) => `${name} ${version}`).sort();
  const key = createHash('sha256').update(wanted.join('\n')).digest('hex').slice(0, 16);
  const folder = join(cacheDir(), 'image', `debian-${architecture}-${key}`);
  await withLock(
    `${folder}.lock`,
    (_, owner) => say(`image: waiting for process ${owner}`),
    async () => {
      if (existsSync(folder)) return;
      const start = performance.now();
      say(`image: downloading ${installed.length} Debian packages of ${architecture} (once)`);
      const unfinished = `${folder}.${process.pid}`;
      try {
        download(architecture, installed, unfinished);
        renameSync(unfinished, folder);
      } finally {
        rmSync(unfinished, { recursive: true, force: true });
      }
      say(`image: downloaded in ${secondsSince(start)}`);
    },
  );
  return folder;
}

/** @param {string} architecture @param {DebianPackage[]} installed @param {string} folder */
function download(architecture, installed, folder) {
  const state = `${folder}.apt`;
  for (const path of ['lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(state, path), { recursive: true });
  }
  mkdirSync(folder, { recursive: true });
  const options = {
    'Dir::State::lists': join(state, 'lists'),
    'Dir::Cache': join(state, 'cache'),
    'APT::Architectures': architecture,
    'APT::Sandbox::User': '',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  try {
    must('apt-get', ['-q', ...flags, 'update']);
    const names = installed.map(({ name }) => `${name}:${architecture}`);
    must('apt-get', ['-q', ...flags, 'download', ...names], folder);
    for (const file of readdirSync(folder)) {
      const name = file.slice(0, file.indexOf('_'));
      must('dpkg-deb', ['-x', file, name], folder);
      renameSync(join(folder, file), join(folder, `${name}.deb`));
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

/** @param {string} command @param {string[]} args @param {string} [cwd] */
function must(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', cwd });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
}
