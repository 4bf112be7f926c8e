import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMachineId } from './machine-id.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'machine-id-'));
});
afterEach(() => rm(folder, { recursive: true }));

const places = () => ({
  machineIdFiles: [join(folder, 'host'), join(folder, 'container')],
  firmwareFile: join(folder, 'firmware'),
});

test('follows the host and its firmware, and shows neither', async () => {
  await writeFile(join(folder, 'host'), 'f00d\n');
  const first = await readMachineId(folder, places());
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(await readMachineId('/nowhere', places())).toBe(first);
  await writeFile(join(folder, 'firmware'), 'a copied disk on another machine');
  const copied = await readMachineId(folder, places());
  expect(copied).not.toBe(first);
  await writeFile(join(folder, 'container'), 'of the image');
  expect(await readMachineId(folder, places())).toBe(copied);
});

test('a machine without either keeps one in its state folder', async () => {
  const first = await readMachineId(join(folder, 'state'), places());
  expect(await readMachineId(join(folder, 'state'), places())).toBe(first);
  expect(await readMachineId(join(folder, 'other'), places())).not.toBe(first);
});

test.each([
  ['', 'is empty'],
  ['\n', 'is empty'],
  ['garbage', 'has "garbage" where the machine\'s UUID was'],
  ['0f6b', 'has "0f6b" where'],
  ['00000000 6f0e6b5e-3a33-4d13-a5a1-dd1a8cbb4fb1\n', 'do not have the checksum "00000000"'],
])('one that is damaged (%j) is refused with what to do, and kept', async (content, what) => {
  const file = join(folder, 'machine-id');
  await writeFile(file, content);
  const reading = readMachineId(folder, places());
  await expect(reading).rejects.toMatchObject({ code: 'STATE_DAMAGED' });
  await expect(readMachineId(folder, places())).rejects.toThrow(`${file} `);
  await expect(readMachineId(folder, places())).rejects.toThrow(what);
  expect(await readFile(file, 'utf8')).toBe(content);
});

test('one that version 0.1.0 wrote is taken', async () => {
  await writeFile(join(folder, 'machine-id'), '6f0e6b5e-3a33-4d13-a5a1-dd1a8cbb4fb1\n');
  expect(await readMachineId(folder, places())).toBe(await readMachineId(folder, places()));
});
