import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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
