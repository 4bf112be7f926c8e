import { rmdirSync } from 'node:fs';
import { deleteNamespaces, endProcesses, hasNamespace } from '../namespaces.ts';
import { removeCgroups } from './cgroups.ts';
import { clusterFolder } from './cluster.ts';

interface Removed {
  readonly namespaces: number;
  readonly processes: number;
  readonly cgroups: number;
}

/**
 * Removes exactly what the cluster made, in whatever state it is. Processes of pods
 * are in other network namespaces, but in the pid namespace of their node: they end
 * with its first process, and the mounts with them.
 */
export async function takeDownCluster(root: string, name: string): Promise<Removed> {
  const folder = clusterFolder(root, name);
  const manifest = folder.read();
  const there = manifest.namespaces.filter(hasNamespace);
  const processes = await endProcesses(there);
  const cgroups = await removeCgroups(manifest.cgroups);
  await deleteNamespaces(there);
  folder.remove();
  try {
    rmdirSync(root);
  } catch {
    // Other clusters live there.
  }
  return { namespaces: there.length, processes, cgroups };
}
