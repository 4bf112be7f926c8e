/**
 * Each node has a cgroup of its own below every cgroup v1 hierarchy. It is the
 * root that kubelet and the containers of that node see.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { eventually } from '../eventually.ts';

export interface Hierarchy {
  readonly mountPoint: string;
  /** As `mount -o` takes them: `cpu,cpuacct`, `name=systemd`. */
  readonly options: string;
}

/** The hierarchies of this machine; refused where there are none. */
export function readHierarchies(): Hierarchy[] {
  const found = hierarchiesOf(readFileSync('/proc/self/mountinfo', 'utf8'));
  const hasMemory = found.some(({ options }) => options.split(',').includes('memory'));
  if (hasMemory) return found;
  throw new CadastreError(
    'KERNEL_LACKS',
    'a cluster of kubelets needs cgroup v1 (a memory controller below /sys/fs/cgroup/memory)',
    {
      remedy: 'Start the machine with systemd.unified_cgroup_hierarchy=0, or use another machine.',
    },
  );
}

const mountFlags = new Set(['rw', 'ro', 'xattr', 'clone_children', 'cpuset_v2_mode']);

export function hierarchiesOf(mountinfo: string): Hierarchy[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [mount = '', file = ''] = line.split(' - ');
    const [type, , words = ''] = file.split(' ');
    if (type !== 'cgroup') return [];
    const options = words
      .split(',')
      .filter((word) => !mountFlags.has(word) && !word.startsWith('release_agent='));
    return [{ mountPoint: mount.split(' ')[4]!, options: options.join(',') }];
  });
}

export function cgroupPaths(hierarchies: readonly Hierarchy[], name: string): string[] {
  return hierarchies.map(({ mountPoint }) => join(mountPoint, name));
}

export function makeCgroups(paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(path);
    // A cpuset without CPUs and memory nodes takes no process.
    for (const name of ['cpuset.cpus', 'cpuset.mems']) {
      const above = join(path, '..', name);
      if (existsSync(above)) writeFileSync(join(path, name), readFileSync(above, 'utf8').trim());
    }
  }
}

/** With what is below. The processes inside have been killed, but may not be gone yet. */
export async function removeCgroups(paths: readonly string[]): Promise<number> {
  const there = paths.filter((path) => existsSync(path));
  for (const path of there) {
    await eventually(`the cgroup ${path} is empty`, () => {
      if (existsSync(path)) removeTree(path);
      return true;
    });
  }
  return there.length;
}

function removeTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(path, entry.name));
  }
  rmdirSync(path);
}
