import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installCni } from './install-cni.ts';

let dir: string;
let binDir: string;
let confDir: string;
let conflist: string;
const install = (cniVersion?: '0.4.0') =>
  installCni({ source: join(dir, 'shipped'), binDir, confDir, cniVersion });
const written = () => JSON.parse(readFileSync(conflist, 'utf8'));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'install-cni-'));
  binDir = join(dir, 'bin');
  confDir = join(dir, 'net.d');
  conflist = join(confDir, '10-cadastre.conflist');
  for (const folder of [binDir, confDir]) mkdirSync(folder);
  writeFileSync(join(dir, 'shipped'), 'the plugin');
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A plugin of others that says which versions it knows. */
function putPortmap(...versions: string[]): void {
  const answer = JSON.stringify({ cniVersion: versions.at(-1), supportedVersions: versions });
  const check = 'test "$CNI_COMMAND" = VERSION || exit 1';
  writeFileSync(join(binDir, 'portmap'), `#!/bin/sh\n${check}\necho '${answer}'\n`);
  chmodSync(join(binDir, 'portmap'), 0o755);
}

test('the plugin is replaced, and nothing else is left in the folders', async () => {
  writeFileSync(join(binDir, 'cadastre'), 'an older one');
  const done = await install();
  expect(done.conflist.outcome).toBe('written');
  expect(readFileSync(join(binDir, 'cadastre'), 'utf8')).toBe('the plugin');
  expect(statSync(join(binDir, 'cadastre')).mode & 0o777).toBe(0o755);
  expect(readdirSync(binDir)).toEqual(['cadastre']);
  expect(readdirSync(confDir)).toEqual(['10-cadastre.conflist']);
  expect((await install()).conflist.outcome).toBe('unchanged');
});

test('the configuration follows the portmap that is there', async () => {
  await install();
  expect(written().plugins).toHaveLength(1);
  putPortmap('0.4.0', '1.0.0');
  expect((await install()).conflist.outcome).toBe('replaced');
  expect(written()).toMatchObject({ cniVersion: '1.0.0', plugins: [{}, { type: 'portmap' }] });
  expect(written().cniVersions).toBeUndefined();
  putPortmap('0.4.0', '1.0.0', '1.1.0');
  await install();
  expect(written().cniVersions).toEqual(['1.0.0', '1.1.0']);
  await install('0.4.0');
  expect(written()).toMatchObject({ cniVersion: '0.4.0' });
});

test('a portmap that cannot be started is in the chain, with the version that always works', async () => {
  writeFileSync(join(binDir, 'portmap'), 'for another machine');
  const { choice } = await install();
  expect(written()).toMatchObject({ cniVersion: '1.0.0', plugins: [{}, { type: 'portmap' }] });
  expect(choice).toBe('CNI 1.0.0: portmap does not say which versions it knows');
});

test('a configuration that somebody edited is kept', async () => {
  await install();
  const mine = readFileSync(conflist, 'utf8').replace('"pods"', '"mine"');
  writeFileSync(conflist, mine);
  expect((await install()).conflist.outcome).toBe('kept');
  expect(readFileSync(conflist, 'utf8')).toBe(mine);
});

test('another network that a runtime reads first is named', async () => {
  writeFileSync(join(confDir, '99-later.conflist'), '{}');
  expect((await install()).hiddenBy).toBeUndefined();
  writeFileSync(join(confDir, '05-cilium.conflist'), '{}');
  expect((await install()).hiddenBy).toBe(join(confDir, '05-cilium.conflist'));
});

test('a folder that is not there is an error that names it, and nothing is installed', async () => {
  rmSync(confDir, { recursive: true });
  await expect(install()).rejects.toMatchObject({
    code: 'BAD_INPUT',
    message: `${confDir}: there is no such file`,
  });
  expect(readdirSync(binDir)).toEqual([]);
});
