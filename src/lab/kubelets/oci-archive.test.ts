import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ociArchive, type TarEntry, textFile } from './oci-archive.ts';

const long = `opt/${'folder/'.repeat(20)}file`;
const entries: TarEntry[] = [
  { kind: 'folder', path: 'bin' },
  textFile('bin/program', 'x'.repeat(1000), 0o755),
  { kind: 'link', path: 'bin/sh', target: 'program' },
  textFile(long, 'deep'),
  textFile('empty', ''),
];
const image = {
  reference: 'registry.example/name:1',
  architecture: 'amd64',
  layers: [entries],
  config: { Entrypoint: ['/bin/program'] },
};

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

function unpack(archive: Buffer): (path: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'oci-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return (path) => join(folder, path);
}

test('the index leads to a manifest, config and layers whose digests are those of their bytes', async () => {
  const at = unpack(await bytesOf(ociArchive(image)));
  const blob = (digest: string) => {
    const bytes = readFileSync(at(`blobs/${digest.replace(':', '/')}`));
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest);
    return bytes;
  };
  const json = (bytes: Buffer) => JSON.parse(bytes.toString('utf8'));
  expect(json(readFileSync(at('oci-layout')))).toEqual({ imageLayoutVersion: '1.0.0' });
  const [entry] = json(readFileSync(at('index.json'))).manifests;
  expect(entry.annotations).toEqual({ 'io.containerd.image.name': 'registry.example/name:1' });
  const manifest = json(blob(entry.digest));
  const config = json(blob(manifest.config.digest));
  expect(config).toMatchObject({ architecture: 'amd64', os: 'linux', config: image.config });
  const [layer] = manifest.layers;
  expect(config.rootfs.diff_ids).toEqual([layer.digest]);
  expect(blob(layer.digest)).toHaveLength(layer.size);
});

test('tar reads a layer as it was given: modes, links, long paths, empty files', async () => {
  const at = unpack(await bytesOf(ociArchive(image)));
  const manifests = JSON.parse(readFileSync(at('index.json'), 'utf8')).manifests;
  const read = (digest: string) => readFileSync(at(`blobs/${digest.replace(':', '/')}`));
  const layer = read(JSON.parse(read(manifests[0].digest).toString('utf8')).layers[0].digest);
  const listing = execFileSync('tar', ['-tv', '--numeric-owner'], {
    input: layer,
    env: { TZ: 'UTC', LC_ALL: 'C' },
    encoding: 'utf8',
  });
  expect(listing.trim().split('\n')).toEqual([
    'drwxr-xr-x 0/0               0 1970-01-01 00:00 bin/',
    '-rwxr-xr-x 0/0            1000 1970-01-01 00:00 bin/program',
    'lrwxrwxrwx 0/0               0 1970-01-01 00:00 bin/sh -> program',
    `-rw-r--r-- 0/0               4 1970-01-01 00:00 ${long}`,
    '-rw-r--r-- 0/0               0 1970-01-01 00:00 empty',
  ]);
});

test('the same files give the same archive, and a file that changed while it was read is refused', async () => {
  expect(await bytesOf(ociArchive(image))).toEqual(await bytesOf(ociArchive(image)));
  const short: TarEntry = { kind: 'file', path: 'a', size: 3, read: () => [Buffer.from('ab')] };
  await expect(bytesOf(ociArchive({ ...image, layers: [[short]] }))).rejects.toThrow(
    'a has 2 bytes instead of 3',
  );
});
