/**
 * `npm run image`: the image of Cadastre without Docker, as an OCI layout in one tar.
 * What is in it says image/contents.mjs; deploy/Dockerfile copies the same tree
 * (`node scripts/image.mjs --root FOLDER`), and has the settings that both use.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheDir, checkoutDir, isMain, say } from './checkout.mjs';
import { imageLayers } from './image/contents.mjs';
import { imageSettings } from './image/dockerfile.mjs';
import { keepOnlyRecent, layoutOf, packLayer, writeWhole } from './image/oci.mjs';

/** @typedef {import('./image.mjs').Architecture} Architecture */

/** @type {Architecture[]} */
const architectures = ['amd64', 'arm64'];
/** @type {Architecture} */
const ownArchitecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/**
 * @param {{ architectures?: Architecture[] }} options
 * @returns {Promise<import('./image.mjs').Image>}
 */
export async function ensureImage(options = {}) {
  const { version } = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8'));
  const reference = `docker.io/library/cadastre:${version}`;
  const platforms = [];
  for (const architecture of options.architectures ?? [ownArchitecture]) {
    const trees = await imageLayers(architecture);
    const layers = trees.map(({ name, tree }) => packLayer(name, tree));
    platforms.push({ architecture, layers });
  }
  const settings = imageSettings({ VERSION: version });
  const { digest, tar } = layoutOf({ reference, settings, platforms });
  const folder = join(cacheDir(), 'image', digest.replace(':', '-'));
  const file = join(folder, `cadastre-${version}.tar`);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    writeWhole(file, tar());
  }
  keepOnlyRecent(join(cacheDir(), 'image'), folder, /^sha256-/);
  const sizes = platforms.map(({ architecture, layers }) => ({
    architecture,
    layers: layers.map(({ name, size, packed }) => ({ name, size, packed: packed.length })),
  }));
  return { file, reference, digest, sizes };
}

/**
 * The tree of each layer, in a folder of its name.
 * @param {string} folder
 */
export async function writeRoots(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Error(`${folder} is not empty; give a new folder`);
  }
  for (const { name, tree } of await imageLayers(ownArchitecture)) {
    mkdirSync(join(folder, name), { recursive: true });
    tree.writeTo(join(folder, name));
  }
}

const usage = 'usage: npm run image [-- --arch amd64|arm64|all] [--out FILE | --root FOLDER]';

async function main() {
  const { values } = parseArgs({
    options: { arch: { type: 'string' }, out: { type: 'string' }, root: { type: 'string' } },
  });
  if (values.root !== undefined) {
    await writeRoots(resolve(values.root));
    say(`image: its layers are in ${resolve(values.root)}`);
    return;
  }
  const wanted = architectures.filter((one) =>
    values.arch === undefined ? one === ownArchitecture : ['all', one].includes(values.arch),
  );
  if (wanted.length === 0) throw new Error(`--arch ${values.arch}: ${usage}`);
  const { file, reference, digest, sizes } = await ensureImage({ architectures: wanted });
  for (const { architecture, layers } of sizes) {
    for (const { name, size, packed } of layers) {
      say(
        `image: ${architecture} ${name.padEnd(8)} ${megabytes(size)}, compressed ${megabytes(packed)}`,
      );
    }
  }
  say(`image: ${reference} ${digest}`);
  if (values.out === undefined) process.stdout.write(`${file}\n`);
  else {
    mkdirSync(dirname(resolve(values.out)), { recursive: true });
    writeWhole(resolve(values.out), readFileSync(file));
    process.stdout.write(`${resolve(values.out)}\n`);
  }
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1).padStart(6)} MB`;
}

if (isMain(import.meta.url)) {
  try {
    await main();
  } catch (error) {
    say(`image: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
