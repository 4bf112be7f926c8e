/**
 * `node scripts/image.mjs FOLDER`: all that an image of Cadastre holds beside
 * Node itself. deploy/Dockerfile puts it into /opt/cadastre; a test runs it from
 * where it lies.
 */
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildCli } from './build.mjs';
import { checkoutDir, isMain, say } from './checkout.mjs';
import { ensureShim } from './shim.mjs';

/** The package that calls the kernel, and its binary for this machine. */
const native = ['koffi', '@koromix'];

/** Benchmarks and long runs of a checkout that was worked in. @param {string} path */
const filter = (path) => !/\/dist\/(bench|soak)$/.test(path);

/** @param {string} folder */
export async function fillImage(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Error(`${folder} is not empty; give a new folder`);
  }
  const shim = ensureShim();
  if (shim === undefined) throw new Error('the CNI plugin needs a C compiler: install musl-tools');
  await buildCli({ quiet: true });
  mkdirSync(folder, { recursive: true });
  const copy = (/** @type {string} */ name, from = join(checkoutDir, name)) =>
    cpSync(from, join(folder, name), { recursive: true, dereference: true, filter });
  for (const name of ['package.json', 'LICENSE', 'dist', 'topologies']) copy(name);
  for (const name of native) copy(join('node_modules', name));
  for (const name of ['install.sh', '10-cadastre.conflist']) copy(join('cni', name));
  copy('cni/cadastre', shim);
}

if (isMain(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  try {
    if (folder === undefined) throw new Error('usage: node scripts/image.mjs FOLDER');
    await fillImage(resolve(folder));
    say(`image: ${resolve(folder)}`);
  } catch (error) {
    say(`image: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
