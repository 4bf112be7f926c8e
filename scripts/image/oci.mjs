/**
 * An image layout of the OCI (image-spec v1.1) as one tar: layers, a configuration and a
 * manifest for each architecture, an index. The same content gives the same bytes.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { cacheDir } from '../checkout.mjs';
import { tarOf } from './tree.mjs';

const type = (/** @type {string} */ name) => `application/vnd.oci.image.${name}`;
/** @param {Buffer} bytes */
const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/**
 * @typedef {{ digest: string; size: number; mediaType: string }} Descriptor
 * @typedef {{ name: string; diffId: string; size: number; packed: Buffer }} Layer
 */

/** Packing the lowest one takes seconds, and it seldom changes. @param {string} name @param {import('./tree.mjs').Tree} tree @returns {Layer} */
export function packLayer(name, tree) {
  const layers = join(cacheDir(), 'image', 'layers');
  // Compressed bytes differ between releases of zlib.
  const folder = join(layers, `${tree.digest()}-zlib-${process.versions.zlib}`);
  if (!existsSync(folder)) {
    const tar = tree.tar();
    const about = { diffId: digestOf(tar), size: tar.length };
    const unfinished = `${folder}.${process.pid}`;
    mkdirSync(unfinished, { recursive: true });
    writeFileSync(join(unfinished, 'about.json'), JSON.stringify(about));
    writeFileSync(join(unfinished, 'layer.tar.gz'), gzipSync(tar, { level: 9 }));
    // Another process may have been quicker.
    if (existsSync(folder)) rmSync(unfinished, { recursive: true });
    else renameSync(unfinished, folder);
  }
  keepOnlyRecent(layers, folder, /./);
  const { diffId, size } = JSON.parse(readFileSync(join(folder, 'about.json'), 'utf8'));
  return { name, diffId, size, packed: readFileSync(join(folder, 'layer.tar.gz')) };
}

/** Whoever looks meanwhile finds nothing, or all of it. @param {string} path @param {Buffer} bytes */
export function writeWhole(path, bytes) {
  writeFileSync(`${path}.${process.pid}`, bytes);
  renameSync(`${path}.${process.pid}`, path);
}

/**
 * Every change of the source makes a new image: those that nobody asked for in a day go.
 * @param {string} folder @param {string} used the path that is asked for now @param {RegExp} names
 */
export function keepOnlyRecent(folder, used, names) {
  const now = new Date();
  utimesSync(used, now, now);
  for (const name of readdirSync(folder).filter((one) => names.test(one))) {
    const path = join(folder, name);
    const age = now.getTime() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    if (age > 86_400_000) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * @param {{ reference: string; settings: object;
 *   platforms: Array<{ architecture: string; layers: Layer[] }> }} image
 * @returns {{ digest: string; tar: () => Buffer }}
 */
export function layoutOf({ reference, settings, platforms }) {
  /** @type {Map<string, Buffer>} */
  const blobs = new Map();
  /** @param {Buffer} bytes @param {string} mediaType @returns {Descriptor} */
  const add = (bytes, mediaType) => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const addJson = (/** @type {object} */ value, /** @type {string} */ mediaType) =>
    add(Buffer.from(JSON.stringify(value)), mediaType);

  const manifests = platforms.map(({ architecture, layers }) => {
    const config = {
      created: '1970-01-01T00:00:00Z',
      architecture,
      os: 'linux',
      config: settings,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ name }) => ({ created: '1970-01-01T00:00:00Z', created_by: name })),
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: type('manifest.v1+json'),
      config: addJson(config, type('config.v1+json')),
      layers: layers.map(({ packed }) => add(packed, type('layer.v1.tar+gzip'))),
    };
    return { ...addJson(manifest, manifest.mediaType), platform: { architecture, os: 'linux' } };
  });
  const list = { schemaVersion: 2, mediaType: type('index.v1+json'), manifests };
  const [only] = manifests;
  const named = manifests.length === 1 && only ? only : addJson(list, list.mediaType);
  const annotations = {
    // What containerd calls it, and what others do.
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
  };
  const index = { ...list, manifests: [{ ...named, annotations }] };
  const files = [
    ['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')],
    ['index.json', Buffer.from(JSON.stringify(index))],
    ...[...blobs].map(([digest, bytes]) => [`blobs/${digest.replace(':', '/')}`, bytes]),
  ];
  const entries = files.map(([path, content]) => ({
    path: /** @type {string} */ (path),
    type: '0',
    mode: 0o644,
    content: /** @type {Buffer} */ (content),
  }));
  return { digest: named.digest, tar: () => tarOf(entries) };
}
