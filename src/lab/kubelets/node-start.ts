/**
 * The first process of a node, as a shell script: it makes the mounts that a
 * machine of its own would have, and then waits for children that lost their parent.
 * What a node keeps over a power cut lies in its folder; /run does not.
 */
import type { Hierarchy } from './cgroups.ts';

/** Below the node's folder. */
export const nodeFolders = [
  'etc/upper',
  'etc/work',
  'opt/upper',
  'opt/work',
  'var-lib',
  'var-log',
  'sysctl',
] as const;

/** Kubelet writes these at its start. They belong to the whole machine, so a node writes to files. */
const machineSettings = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

interface NodeStart {
  readonly name: string;
  readonly folder: string;
  readonly hierarchies: readonly Hierarchy[];
  /** This start of the node, as `uuidgen` would say it: kubelet sees a restart by it. */
  readonly bootId: string;
}

/** The last command of the script creates this file. */
export const readyFile = 'ready';

export function nodeScript({ name, folder, hierarchies, bootId }: NodeStart): string {
  const at = (path: string) => quote(`${folder}/${path}`);
  const overlay = (path: string, from: string) =>
    `mount -t overlay overlay -o lowerdir=${path},upperdir=${at(`${from}/upper`)},workdir=${at(`${from}/work`)} ${path}`;
  const fake = (path: string, value: string) => {
    const file = at(`sysctl/${path.replaceAll('/', '.')}`);
    return `if [ -e /proc/sys/${path} ]; then echo ${value} > ${file}; mount --bind ${file} /proc/sys/${path}; fi`;
  };
  const lines = [
    'set -e',
    `exec 9> ${at(readyFile)}`,
    'mount --make-rprivate /',
    `hostname ${name}`,
    'mount -t proc proc /proc',
    ...Object.entries(machineSettings).map(([path, value]) => fake(path, value)),
    fake('kernel/random/boot_id', bootId),
    'mount -t sysfs sysfs /sys',
    'mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup',
    ...hierarchies.flatMap(({ mountPoint, options }) => [
      `mkdir -p ${mountPoint}`,
      `mount -t cgroup -o ${options.startsWith('name=') ? `none,${options}` : options} cgroup ${mountPoint}`,
    ]),
    overlay('/etc', 'etc'),
    overlay('/opt', 'opt'),
    `mount --bind ${at('var-log')} /var/log`,
    'mount -t tmpfs -o mode=755 run /run',
    // Last: the node's own folder may be below it.
    `mount --bind ${at('var-lib')} /var/lib`,
    'mount --make-rshared /',
    'echo ready >&9',
    'exec 9>&-',
    // A shell takes every child that ended while it waits for this one.
    'while :; do sleep 3600; done',
  ];
  return `${lines.join('\n')}\n`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
