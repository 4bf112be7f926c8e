/**
 * What tells this machine from others, for good: the host's machine-id, and the number that
 * its firmware or hypervisor gave it, because machines that were copied from one disk image
 * often have the same machine-id. (The boot id would not do: after a reboot it is another.)
 * Hashed with a word of our own, since a machine-id is not to be shown (machine-id(5)).
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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

/** A machine without either keeps one in its state folder. */
async function ownId(stateFolder: string): Promise<string> {
  const file = join(stateFolder, 'machine-id');
  const before = await read(file);
  if (before !== '') return before;
  const id = randomUUID();
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${id}\n`, { mode: 0o600 });
  return id;
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim();
}
