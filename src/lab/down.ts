import { rmdirSync } from 'node:fs';
import { LabFolder } from './folder.ts';
import { deleteNamespaces, endProcesses, hasNamespace } from './namespaces.ts';

interface Removed {
  readonly name: string;
  readonly namespaces: number;
  readonly processes: number;
}

/** Removes exactly what the lab made, in whatever state it is; what is gone already is fine. */
export async function takeDown(root: string, name: string): Promise<Removed> {
  const folder = new LabFolder(root, name);
  const { namespaces } = folder.read();
  const there = namespaces.filter(hasNamespace);
  const processes = await endProcesses(there);
  await deleteNamespaces(there);
  folder.remove();
  try {
    rmdirSync(root);
  } catch {
    // Other labs live there, or it was never made.
  }
  return { name, namespaces: there.length, processes };
}
