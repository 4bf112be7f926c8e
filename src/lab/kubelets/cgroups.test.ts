import { expect, test } from 'vitest';
import { cgroupPaths, hierarchiesOf } from './cgroups.ts';

test('the v1 hierarchies of a machine are those of its mounts; v2 is none', () => {
  const found = hierarchiesOf(`24 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 25 0:26 / /sys/fs/cgroup/unified rw,relatime shared:5 - cgroup2 cgroup2 rw
31 25 0:27 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/x,name=systemd
32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct
33 25 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
`);
  expect(found).toEqual([
    { mountPoint: '/sys/fs/cgroup/systemd', options: 'name=systemd' },
    { mountPoint: '/sys/fs/cgroup/cpu,cpuacct', options: 'cpu,cpuacct' },
    { mountPoint: '/sys/fs/cgroup/memory', options: 'memory' },
  ]);
  expect(cgroupPaths(found, 'cadastre-a-node1')[2]).toBe('/sys/fs/cgroup/memory/cadastre-a-node1');
});
