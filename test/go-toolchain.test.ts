/** Where Go is missing it is fetched from the module proxy: checked, whole or not at all. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ensureToolchain } from '../scripts/go.mjs';
import { goSum, readZip } from '../scripts/zip.mjs';

const platform = `${process.platform}-${process.arch}`;
const module = `v0.0.1-go9.9.9.${platform.replace('x64', 'amd64')}`;
const cache = mkdtempSync(join(tmpdir(), 'cadastre-go-'));
const root = join(cache, 'go', `9.9.9-${platform}`);

/** A zip archive of these files, every second one packed. */
function makeZip(files: Record<string, string>): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let start = 0;
  Object.entries(files).forEach(([name, text], at) => {
    const method = at % 2 === 0 ? 8 : 0;
    const data = method === 8 ? deflateRawSync(text) : Buffer.from(text);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(start, 42);
    locals.push(local, Buffer.from(name), data);
    directory.push(entry, Buffer.from(name));
    start += 30 + name.length + data.length;
  });
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(start, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const named = (files: Record<string, string>, prefix = `golang.org/toolchain@${module}/`) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${prefix}${name}`, text]));
const toolchain = makeZip(
  named({ 'bin/go': '#!/bin/sh\necho it runs\n', 'src/_go.mod': 'module std\n', VERSION: 'go9' }),
);

let served = toolchain;
let requests = 0;
let proxy: Server;
beforeAll(async () => {
  proxy = createServer((request, response) => {
    requests++;
    const isAsked = request.url === `/has/golang.org/toolchain/@v/${module}.zip`;
    response.writeHead(isAsked ? 200 : 404).end(isAsked ? served : '');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  vi.stubEnv('CADASTRE_CACHE', cache);
  vi.stubEnv('GOPROXY', `http://127.0.0.1:${port}/hasnot,http://127.0.0.1:${port}/has/|direct`);
});
afterAll(() => {
  vi.unstubAllEnvs();
  proxy.close();
  rmSync(cache, { recursive: true });
});
afterEach(() => rmSync(join(cache, 'go'), { recursive: true, force: true }));

const wanted = (archive = toolchain) => ({
  version: '9.9.9',
  sums: { [platform]: goSum(readZip(archive)) },
});

describe('the pinned Go', () => {
  test('comes from the first proxy that has it, once, and runs', async () => {
    served = toolchain;
    requests = 0;
    expect(await ensureToolchain(wanted())).toBe(root);
    expect(await ensureToolchain(wanted())).toBe(root);
    expect(requests).toBe(2);
    expect(spawnSync(join(root, 'bin/go'), { encoding: 'utf8' }).stdout).toBe('it runs\n');
    expect(statSync(join(root, 'VERSION')).mode & 0o111).toBe(0);
    // In a module's archive it cannot have its own name.
    expect(readFileSync(join(root, 'src/go.mod'), 'utf8')).toBe('module std\n');
  });

  test.each([
    ['another content', makeZip(named({ 'bin/go': 'evil' })), /not the one that is pinned/],
    ['half of it', toolchain.subarray(0, toolchain.length / 2), /no zip archive, or only a part/],
  ])('is refused with %s, and nothing is left', async (_, archive, words) => {
    served = archive;
    await expect(ensureToolchain(wanted())).rejects.toThrow(words);
    expect(readdirSync(join(cache, 'go'))).toEqual([]);
  });

  test.each([
    ['above its folder', named({ '../../evil': 'x' })],
    ['of another module', named({ evil: 'x' }, 'example.com/other@v1.0.0/')],
  ])('with a file %s is refused although its sum is right', async (_, files) => {
    served = makeZip(files);
    await expect(ensureToolchain(wanted(served))).rejects.toThrow(/does not belong/);
    expect(existsSync(root)).toBe(false);
  });

  test('that no proxy has, or that is pinned for other machines, is a reason to skip, in words', async () => {
    const other = { ...wanted(), version: '9.9.8' };
    await expect(ensureToolchain(other)).rejects.toThrow(
      /Go is not installed and could not be fetched \(http.*404.*\): install it, or set GOPROXY/,
    );
    await expect(ensureToolchain({ version: '9.9.9', sums: {} })).rejects.toThrow(/install Go 9/);
  });
});

test('the sum of an archive is the one that go.sum has', () => {
  // sha256sum of each file, sorted by name, then the sha256 of that list.
  const files = [
    { name: 'b@v1/y', content: () => Buffer.from('') },
    { name: 'b@v1/x', content: () => Buffer.from('hello\n') },
  ];
  expect(goSum(files)).toBe('h1:xXDVbb5BBGNcJsIqJbmiyvDF43MxYmjp8DnAtBopxjI=');
});
