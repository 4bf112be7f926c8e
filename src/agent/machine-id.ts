/**
 * What tells this machine from others, for good: the host's machine-id, and the number that
 * its firmware or hypervisor gave it, because machines that were copied from one disk image
 * often have the same machine-id. (The boot id would not do: after a reboot it is another.)
 * Hashed with a word of our own, since a machine-id is not to be shown (machine-id(5)).
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError } from '../base/errors.ts';
import { realFiles } from '../base/journal/durable-files.ts';
import { replaceFile } from '../base/journal/replace-file.ts';
import { sealText, unsealText } from '../base/journal/sealed-text.ts';

/** deploy/agent.yaml mounts the host's; with hostPID, process 1 has it too. */
const machineIdFiles = ['/proc/1/root/etc/machine-id', '/etc/machine-id'];
const firmwareFile = '/sys/class/dmi/id/product_uuid';

export async function readMachineId(
  stateFolder: string,
  places = { machineIdFiles, firmwareFile },
): Promise<string> {
  let id = '';
  for (const file of places.machineIdFiles) id ||= await read(file);
  const firmware = await read(places.firmwareFile);
  if (id === '' && firmware === '') id = await ownId(stateFolder);
  return createHash('sha256')
    .update(`cadastre machine ${id} ${firmware}`)
    .digest('hex')
    .slice(0, 32);
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A machine without either keeps one in its state folder. Another one would be another machine. */
async function ownId(stateFolder: string): Promise<string> {
  const file = join(stateFolder, 'machine-id');
  const before = await realFiles.read(file);
  if (before !== undefined) return readOwnId(file, before);
  const id = randomUUID();
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  await replaceFile(realFiles, file, `${sealText(id)}\n`);
  return id;
}

function readOwnId(file: string, bytes: Uint8Array): string {
  const read = unsealText(Buffer.from(Buffer.from(bytes).toString('utf8').trimEnd()));
  const remedy =
    'restore it from a copy of the state folder; or remove it: the machine then counts as another one, which serves the Node when the agent of the former one has not answered for a while. Addresses of pods are kept either way.';
  if ('damage' in read)
    throw new CadastreError('STATE_DAMAGED', `${file} ${read.damage}`, { remedy });
  if (uuid.test(read.text)) return read.text;
  const value = JSON.stringify(read.text.slice(0, 60));
  throw new CadastreError('STATE_DAMAGED', `${file} has ${value} where the machine's UUID was`, {
    remedy,
  });
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
