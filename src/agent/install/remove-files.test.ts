import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseConflist, conflistText } from './conflist.ts';
import { removeConflist, removePlugin, removeSocket, removeState } from './remove-files.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'remove-files-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nothing = { removed: [], kept: [] };
const ours = conflistText(chooseConflist({ isThere: false }));

test('what is not there is passed over', async () => {
  const gone = join(dir, 'gone');
  expect(await removeConflist(gone)).toEqual(nothing);
  expect(await removePlugin(gone)).toEqual(nothing);
  expect(await removeSocket(join(gone, 'agent.sock'))).toEqual(nothing);
  expect(await removeState(gone)).toEqual(nothing);
});

test('our configuration goes; an edited one is put where no runtime reads it', async () => {
  const path = join(dir, '10-cadastre.conflist');
  writeFileSync(path, ours);
  expect(await removeConflist(dir)).toEqual({ removed: [path], kept: [] });
  writeFileSync(path, ours.replace('pods', 'mine'));
  const { removed } = await removeConflist(dir);
  expect(removed).toEqual([`${path}, which was edited: kept as ${path}.removed`]);
  expect(readdirSync(dir)).toEqual(['10-cadastre.conflist.removed']);
  expect(await removeConflist(dir)).toEqual(nothing);
});

test('another network that names our plugin is said, and left', async () => {
  const bridge = { type: 'bridge', ipam: { type: 'cadastre' } };
  writeFileSync(join(dir, '20-bridge.conf'), JSON.stringify(bridge));
  writeFileSync(join(dir, '30-other.conf'), '{ "type": "ptp" }');
  expect(await removeConflist(dir)).toEqual({
    removed: [],
    kept: [`${join(dir, '20-bridge.conf')}, which still names the plugin cadastre`],
  });
});

test('the folder of the socket goes with it, unless something else is there', async () => {
  const folder = join(dir, 'run');
  mkdirSync(folder);
  for (const name of ['agent.sock.lock', 'other']) writeFileSync(join(folder, name), '');
  await removeSocket(join(folder, 'agent.sock'));
  expect(readdirSync(folder)).toEqual(['other']);
  rmSync(join(folder, 'other'));
  await removeSocket(join(folder, 'agent.sock'));
  expect(existsSync(folder)).toBe(false);
});

test('a folder that is no state folder of an agent is not emptied', async () => {
  writeFileSync(join(dir, 'thesis.tex'), '');
  await expect(removeState(dir)).rejects.toThrow('is not the state folder of an agent');
  expect(readdirSync(dir)).toEqual(['thesis.tex']);
  writeFileSync(join(dir, 'addresses.journal'), '');
  await removeState(dir);
  expect(existsSync(dir)).toBe(false);
});
