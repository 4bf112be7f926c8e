/**
 * A container image as one tar in the OCI image layout, as `ctr images import`
 * reads it: layers, config, manifest, and an index that names the image.
 */
import { createHash } from 'node:crypto';

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export type TarEntry =
  | { readonly kind: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode?: number;
      readonly size: number;
      /** Asked twice: once for the digest, once for the archive. */
      read(): Chunks;
    };

export interface ImageContents {
  /** With registry and tag: `registry.k8s.io/pause:3.10.2`. */
  readonly reference: string;
  readonly architecture: string;
  readonly layers: ReadonlyArray<readonly TarEntry[]>;
  /** The part of the config that says how a container runs: Entrypoint, Cmd, User, Env. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** File with these bytes. */
export function textFile(path: string, content: string | Uint8Array, mode = 0o644): TarEntry {
  const bytes = Buffer.from(content);
  return { kind: 'file', path, mode, size: bytes.length, read: () => [bytes] };
}

export async function* ociArchive(image: ImageContents): AsyncGenerator<Uint8Array> {
  const layers = await Promise.all(image.layers.map(layerBlob));
  const config = jsonBlob({
    architecture: image.architecture,
    os: 'linux',
    config: image.config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: type('manifest.v1+json'),
    config: describe(type('config.v1+json'), config),
    layers: layers.map((layer) => describe(type('layer.v1.tar'), layer)),
  });
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        ...describe(type('manifest.v1+json'), manifest),
        platform: { architecture: image.architecture, os: 'linux' },
        annotations: { 'io.containerd.image.name': image.reference },
      },
    ],
  };
  const blobs = new Map([...layers, config, manifest].map((blob) => [blob.digest, blob]));
  yield* tar([
    textFile('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
    textFile('index.json', JSON.stringify(index)),
    ...[...blobs.values()].map(
      ({ digest, size, read }): TarEntry => ({
        kind: 'file',
        path: `blobs/${digest.replace(':', '/')}`,
        size,
        read,
      }),
    ),
  ]);
}

interface Blob {
  readonly digest: string;
  readonly size: number;
  read(): Chunks;
}

function describe(mediaType: string, { digest, size }: Blob) {
  return { mediaType, digest, size };
}

function jsonBlob(value: unknown): Blob {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { digest, size: bytes.length, read: () => [bytes] };
}

async function layerBlob(entries: readonly TarEntry[]): Promise<Blob> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of tar(entries)) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { digest: `sha256:${hash.digest('hex')}`, size, read: () => tar(entries) };
}

/** POSIX ustar. Everything belongs to root and has no age, so that equal files give equal digests. */
async function* tar(entries: readonly TarEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield header(entry);
    if (entry.kind !== 'file') continue;
    let size = 0;
    for await (const chunk of entry.read()) {
      size += chunk.length;
      yield chunk;
    }
    if (size !== entry.size) {
      throw new Error(`${entry.path} has ${size} bytes instead of ${entry.size}`);
    }
    yield Buffer.alloc((512 - (size % 512)) % 512);
  }
  yield Buffer.alloc(1024);
}

const typeFlags = { file: '0', link: '2', folder: '5' } as const;

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  const [prefix, name] = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  const mode =
    entry.kind === 'link' ? 0o777 : (entry.mode ?? (entry.kind === 'file' ? 0o644 : 0o755));
  block.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.kind === 'file' ? entry.size : 0, 124, 12);
  octal(0, 136, 12);
  block.write('        ', 148);
  block.write(typeFlags[entry.kind], 156);
  if (entry.kind === 'link') block.write(entry.target, 157);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A name of up to 100 bytes, and what comes before it of up to 155. */
function splitPath(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100;
    if (fits && name !== '') return [prefix, name];
  }
  throw new Error(`the path ${path} is too long for a tar`);
}
