/**
 * The packages whose code is delivered with ours: those that esbuild has put into a
 * bundle, by its own record, and koffi, which lies beside it. Their licences ask that
 * their texts go along.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from './checkout.mjs';

/** @typedef {{ name: string; version: string; license: string; texts: string[] }} Bundled */

/**
 * What goes into dist beside the program.
 * @param {string[]} inputs paths of esbuild's metafile, from the checkout
 * @returns {Array<{ path: string; contents: Buffer }>}
 */
export function thirdPartyFiles(inputs) {
  const packages = bundledPackages(inputs);
  const list = packages.map(({ name, version, license }) => ({ name, version, license }));
  const texts = packages.map(({ name, version, license, texts: own }) =>
    [`${name} ${version} (${license})`, '='.repeat(78), ...own, ''].join('\n'),
  );
  return [
    { path: 'third-party.json', contents: Buffer.from(`${JSON.stringify(list, null, 2)}\n`) },
    { path: 'THIRD-PARTY-LICENSES', contents: Buffer.from(texts.join('\n')) },
  ];
}

/** Sorted by name. @param {string[]} inputs @returns {Bundled[]} */
function bundledPackages(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
    if (folder !== undefined) folders.add(join(checkoutDir, folder));
  }
  // Not bundled: it loads a binary. Optional, so it may be absent.
  const koffi = join(checkoutDir, 'node_modules/koffi');
  if (existsSync(koffi)) folders.add(koffi);
  return [...folders].map(describe).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @param {string} folder @returns {Bundled} */
function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(^|\/)(licen[cs]e|copying|notice)(\.\w+)?$/i.test(path))
    .filter((path) => !path.includes('node_modules/'))
    .sort()
    .map((path) => readFileSync(join(folder, path), 'utf8').trim());
  if (typeof license !== 'string' || texts.length === 0) {
    throw new Error(`${name} ${version} is bundled and has no licence text in its package`);
  }
  return { name, version, license, texts };
}
