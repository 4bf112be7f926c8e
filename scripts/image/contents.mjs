/**
 * What an image of Cadastre holds, in three layers, so that a new version of Cadastre
 * moves the last one alone:
 *   base      Node, the libraries that it and koffi load, a user
 *   nft       the program for masquerade, and its libraries
 *   cadastre  ours: dist, topologies, the CNI plugin, koffi
 * No shell, no package manager. Every library comes from a Debian package; its licence
 * goes along, and so does its entry for scanners (/var/lib/dpkg/status.d).
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { bundleCli } from '../build.mjs';
import { checkoutDir } from '../checkout.mjs';
import { measuredNode } from '../node24.mjs';
import { ensureShim, shimLibrary } from '../shim.mjs';
import { downloadedFiles, installedFiles, installedPackage, triplets } from './debian-files.mjs';
import { readElf } from './elf.mjs';
import { ensureNpmPackage } from './npm-package.mjs';
import { Tree } from './tree.mjs';

/** As the packages of both name it, and the registry's checksum of the Node we ship. */
const nodePackages = {
  amd64: {
    arch: 'x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    arch: 'arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

/** Whoever the image's USER is; mount points; how names are looked up. */
const files = {
  'etc/passwd': 'root:x:0:0:root:/:/nonexistent\nnonroot:x:65532:65532:nonroot:/:/nonexistent\n',
  'etc/group': 'root:x:0:\nnonroot:x:65532:\n',
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
};
const folders = ['dev', 'etc', 'opt', 'proc', 'run', 'sys', 'usr/bin', 'usr/sbin', 'var/lib'];
const links = {
  bin: 'usr/bin',
  lib: 'usr/lib',
  lib64: 'usr/lib64',
  sbin: 'usr/sbin',
  'var/run': '/run',
};
/** Runs without a shell: the kernel starts Node, Node the program. */
const command = "#!/usr/local/bin/node\nimport('/opt/cadastre/dist/cadastre.mjs');\n";

/**
 * @param {import('../image.mjs').Architecture} architecture
 * @returns {Promise<Array<{ name: string; tree: Tree }>>} lowest first
 */
export async function imageLayers(architecture) {
  const { arch, integrity } = nodePackages[architecture];
  const node = await ensureNpmPackage(`node-linux-${arch}`, measuredNode, integrity);
  const koffi = await nativeKoffi(arch);
  const filler = new Filler(architecture, await debianFiles(architecture));

  const base = new Tree();
  for (const path of folders) base.folder(path);
  base.folder('tmp', 0o1777);
  for (const [path, target] of Object.entries(links)) base.link(path, target);
  for (const [path, text] of Object.entries(files)) base.file(path, Buffer.from(text));
  base.file('usr/local/bin/node', join(node, 'bin/node'), 0o755);
  base.file('usr/local/share/doc/node/LICENSE', join(node, 'LICENSE'));
  filler.addLibraries(base, join(node, 'bin/node'));
  filler.addLibraries(base, join(koffi, koffiBinary(arch)));

  const nft = new Tree();
  filler.addProgram(nft, 'usr/sbin/nft');
  const packages = filler.addPapers();

  const cadastre = new Tree();
  await fillCadastre(cadastre, 'opt/cadastre', arch);
  // A part of the plugin, and no file of its own.
  const library = installedPackage(shimLibrary(arch));
  addLicense(cadastre, library);
  cadastre.file('usr/local/bin/cadastre', Buffer.from(command), 0o755);
  const contents = [
    {
      name: 'node',
      version: measuredNode,
      license: 'MIT',
      texts: ['/usr/local/share/doc/node/LICENSE'],
    },
    ...[...packages, library].map((one) => ({
      name: one.name,
      version: one.version,
      license: licenseNames(one),
      texts: [
        `/usr/share/doc/${one.name}/copyright`,
        ...commonLicenses(one).map((path) => `/${path}`),
      ],
      debian: architecture,
    })),
  ];
  const json = Buffer.from(`${JSON.stringify(contents, null, 2)}\n`);
  cadastre.file('opt/cadastre/dist/image-packages.json', json);
  return [
    { name: 'base', tree: base },
    { name: 'nft', tree: nft },
    { name: 'cadastre', tree: cadastre },
  ];
}

/** @param {string} arch */
const koffiBinary = (arch) => `linux_${arch}/koffi.node`;

/** Installed here, or the registry's, by the checksum of package-lock.json. @param {string} arch */
async function nativeKoffi(arch) {
  const name = `@koromix/koffi-linux-${arch}`;
  const here = join(checkoutDir, 'node_modules', name);
  if (existsSync(here)) return realpathSync(here);
  const lock = JSON.parse(readFileSync(join(checkoutDir, 'package-lock.json'), 'utf8'));
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  return ensureNpmPackage(name, version, integrity);
}

/**
 * /opt/cadastre, whatever lies around it.
 * @param {Tree} tree @param {string} at @param {string} arch as Node names it
 */
export async function fillCadastre(tree, at, arch) {
  const shim = ensureShim(arch);
  if (shim === undefined) {
    const tools =
      arch === process.arch
        ? 'musl-tools'
        : `a cross compiler for ${arch}, such as gcc-aarch64-linux-gnu`;
    throw new Error(`the CNI plugin needs a C compiler: install ${tools}`);
  }
  for (const name of ['package.json', 'LICENSE'])
    tree.file(join(at, name), join(checkoutDir, name));
  for (const { path, contents } of await bundleCli()) {
    const mode = path === 'cadastre.mjs' ? 0o755 : 0o644;
    tree.file(join(at, 'dist', path), Buffer.from(contents), mode);
  }
  tree.copy(join(at, 'topologies'), join(checkoutDir, 'topologies'));
  tree.file(join(at, 'cni/cadastre'), shim, 0o755);
  const modules = join(at, 'node_modules');
  // What Node loads of it: neither its source in C++ nor its documents.
  const isLoaded = (/** @type {string} */ name) => /(\.[cm]?js|(^|\/)package\.json)$/.test(name);
  const koffi = realpathSync(join(checkoutDir, 'node_modules/koffi'));
  tree.copy(
    join(modules, 'koffi'),
    koffi,
    (name) => isLoaded(name) && !/^(doc|vendor|cnoke)/.test(name),
  );
  const native = await nativeKoffi(arch);
  const binary = koffiBinary(arch);
  tree.copy(
    join(modules, `@koromix/koffi-linux-${arch}`),
    native,
    (name) => isLoaded(name) || name === binary,
  );
}

/**
 * Where the libraries of this architecture come from.
 * @param {import('../image.mjs').Architecture} architecture
 */
async function debianFiles(architecture) {
  const own = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const installed = installedFiles();
  if (architecture === own) return installed;
  // The packages are the same; which ones is seen on those of this machine.
  const { arch, integrity } = nodePackages[own];
  const ownNode = await ensureNpmPackage(`node-linux-${arch}`, measuredNode, integrity);
  const filler = new Filler(own, installed);
  filler.addLibraries(new Tree(), join(ownNode, 'bin/node'));
  filler.addProgram(new Tree(), 'usr/sbin/nft');
  return downloadedFiles(architecture, filler.addPapers());
}

/** Adds programs with all that they load, each library to the lowest layer that needs it. */
class Filler {
  #triplet;
  #debian;
  /** @type {Map<string, Tree>} */
  #added = new Map();

  /** @param {import('../image.mjs').Architecture} architecture @param {import('./debian-files.mjs').DebianFiles} debian */
  constructor(architecture, debian) {
    this.#triplet = triplets[architecture];
    this.#debian = debian;
  }

  /** @param {Tree} tree @param {string} path */
  addProgram(tree, path) {
    this.addLibraries(tree, this.#addFile(tree, path, 0o755));
  }

  /** @param {Tree} tree @param {string} program */
  addLibraries(tree, program) {
    const { needed, loader } = readElf(program);
    if (loader !== undefined) this.#addLoader(tree, loader);
    for (const name of needed) {
      const path = `usr/lib/${this.#triplet}/${name}`;
      if (this.#added.has(path)) continue;
      const mode = name.startsWith('ld-linux') ? 0o755 : 0o644;
      this.addLibraries(tree, this.#addFile(tree, path, mode));
    }
  }

  /**
   * The licence of each package, in the layer of its first file, and what a scanner reads.
   * @returns {import('./debian-files.mjs').DebianPackage[]} by name
   */
  addPapers() {
    const paths = [...this.#added.keys()];
    const owners = this.#debian.packagesOf(paths);
    /** @type {Map<string, import('./debian-files.mjs').DebianPackage>} */
    const packages = new Map();
    paths.forEach((path, index) => {
      const [owner, tree] = [owners[index], this.#added.get(path)];
      if (owner === undefined || tree === undefined || packages.has(owner.name)) return;
      packages.set(owner.name, owner);
      tree.file(`var/lib/dpkg/status.d/${owner.name}`, Buffer.from(owner.control));
      addLicense(tree, owner);
    });
    return [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Where programs look for it, a link to where Debian keeps it. @param {Tree} tree @param {string} loader */
  #addLoader(tree, loader) {
    const folder = dirname(loader) === '/lib' ? '' : '../lib/';
    const target = `${folder}${this.#triplet}/${basename(loader)}`;
    if (!this.#added.has(`usr/lib/${this.#triplet}/${basename(loader)}`)) {
      tree.link(join('usr', loader), target);
    }
  }

  /** @param {Tree} tree @param {string} path @param {number} mode */
  #addFile(tree, path, mode) {
    const file = this.#debian.find(path);
    tree.file(path, realpathSync(file), mode);
    this.#added.set(path, tree);
    return file;
  }
}

/**
 * With the common ones that it refers to.
 * @param {Tree} tree @param {import('./debian-files.mjs').DebianPackage} one
 */
function addLicense(tree, one) {
  tree.file(`usr/share/doc/${one.name}/copyright`, realpathSync(one.copyright));
  for (const path of commonLicenses(one)) tree.file(path, realpathSync(`/${path}`));
}

/** @param {import('./debian-files.mjs').DebianPackage} one */
function commonLicenses({ copyright }) {
  const text = readFileSync(copyright, 'utf8');
  const paths = [...text.matchAll(/\/(usr\/share\/common-licenses\/[\w.-]*\w)/g)];
  return [...new Set(paths.map(([, path = '']) => path))].filter((path) => existsSync(`/${path}`));
}

/** Where Debian's file is prose. */
const proseLicenses = new Map([
  ['libc6', 'LGPL-2.1-or-later'],
  ['libc6-dev', 'LGPL-2.1-or-later'],
  ['libc6-dev-arm64-cross', 'LGPL-2.1-or-later'],
  ['libgcc-s1', 'GPL-3.0-or-later WITH GCC-exception-3.1'],
  ['libstdc++6', 'GPL-3.0-or-later WITH GCC-exception-3.1'],
]);

/**
 * `GPL-2+, LGPL-2.1+`: the short names of a machine-readable copyright file.
 * @param {import('./debian-files.mjs').DebianPackage} one
 */
function licenseNames({ name, copyright }) {
  const text = readFileSync(copyright, 'utf8');
  const found = [...text.matchAll(/^License: *(\S.*)$/gim)].map(([, each = '']) => each.trim());
  const names = [...new Set(found)].sort().join(', ') || proseLicenses.get(name);
  if (!names) throw new Error(`read ${copyright}, and add the licence of ${name} to the table`);
  return names;
}
