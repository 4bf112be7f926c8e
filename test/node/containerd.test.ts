/**
 * A container runtime that people have: containerd starts a container, its
 * client `ctr` calls our plugin as it finds it in the usual folders, and the
 * container is on the network. Folders of this machine stay as they are: `ctr`
 * sees others in their place.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureShim } from '../../scripts/shim.mjs';
import { inside, ip, sweepNamespaces } from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { Containerd } from './containerd.ts';
import { TestNode } from './test-node.ts';

const conflist = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [{ type: 'cadastre' }, { type: 'portmap', capabilities: { portMappings: true } }],
};

let node: TestNode;
let containerd: Containerd | undefined;
const at = (path: string) => join(node.folder, 'containerd', path);

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  node = await TestNode.create(['10.80.0.0/24', 'fd80::/64']);
  await node.startAgent();
  for (const folder of ['bin', 'net.d', 'rootfs/bin', 'rootfs/proc', 'rootfs/sys', 'rootfs/dev']) {
    mkdirSync(at(folder), { recursive: true });
  }
  copyFileSync('/usr/bin/busybox', at('rootfs/bin/busybox'));
  copyFileSync(ensureShim()!, at('bin/cadastre'));
  copyFileSync('/usr/lib/cni/portmap', at('bin/portmap'));
  writeFileSync(at('net.d/10-cadastre.conflist'), JSON.stringify(conflist));
  containerd = await Containerd.start(at(''));
}, 120_000);

afterAll(async () => {
  await containerd?.stop();
  await node?.remove();
  await sweepNamespaces({ isOver: true });
});

test('ctr run --cni starts a container on our network, and its end leaves nothing', async () => {
  // In place of /etc/cni/net.d and /opt/cni/bin, for this one process.
  const script = `set -e
    mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work
    mount -t overlay none -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc
    mount -t tmpfs none /opt && mkdir -p /etc/cni/net.d /opt/cni/bin
    mount --bind ${at('net.d')} /etc/cni/net.d && mount --bind ${at('bin')} /opt/cni/bin
    exec ctr -a ${at('sock')} run --rm --cni --rootfs ${at('rootfs')} box /bin/busybox sleep 600`;
  const words = [`--net=${node.namespace.path}`, 'unshare', '-m', 'sh', '-c', script];
  const child = spawn('nsenter', words, {
    env: {
      ...process.env,
      CADASTRE_SOCKET: node.socketPath,
      CADASTRE_CNI_SPOOL: join(node.folder, 'state/cni-spool'),
    },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece) => {
      said += piece;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [pod] = await eventually(
    async () => {
      const all = await node.allocations();
      expect(all, said).toHaveLength(1);
      return all;
    },
    { withinMs: 30_000 },
  );
  expect(pod?.owner).toMatch(/^cni:pods\/.*box\/eth0$/);
  const addresses = pod!.addresses.map(({ address }) => address);
  expect(addresses).toHaveLength(2);
  for (const address of addresses) {
    await eventually(() => inside(node.namespace, `ping -c 1 -W 5 ${address}`));
  }
  const exec = ['tasks', 'exec', '--exec-id', 'look', 'box', '/bin/busybox'];
  const seen = await containerd!.ctr(...exec, 'ip', 'addr', 'show', 'eth0');
  for (const address of addresses) expect(seen).toContain(address);

  await containerd!.ctr('tasks', 'kill', '-s', 'SIGKILL', 'box');
  expect(await ended, said).toBe(137);
  expect(await node.allocations()).toEqual([]);
  expect((await ip(`-n ${node.namespace.name} -br link`)).match(/^cad\S+/gm)).toBeNull();
}, 120_000);
