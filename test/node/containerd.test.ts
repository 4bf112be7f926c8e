/**
 * A container runtime that people have: containerd starts a container, its
 * client `ctr` calls our plugin as `cadastre cni install` put it into the usual
 * folders, and the container is on the network. Folders of this machine stay as
 * they are: `ctr` sees others in their place. Old and new containerd, and old
 * and new plugins of others, in every pairing.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { ensureShim } from '../../scripts/shim.mjs';
import { installCni } from '../../src/agent/install/install-cni.ts';
import { inside, ip, sweepNamespaces } from '../kernel/namespaces.ts';
import { eventually } from '../world/eventually.ts';
import { Containerd } from './containerd.ts';
import { TestNode } from './test-node.ts';

const runtimes = {
  'containerd 1.6': async () => undefined,
  'containerd 2.4': () => ensureGoTool('containerd'),
};
const portmaps = {
  'portmap 1.1': async () => '/usr/lib/cni/portmap',
  'portmap 1.9': async () => join(await ensureGoTool('portmap'), 'portmap'),
  'no portmap': async () => undefined,
};
/** Which version the pairing ends up with; both are in the name of the test. */
const pairings: Array<[keyof typeof runtimes, keyof typeof portmaps, string]> = [
  ['containerd 1.6', 'portmap 1.1', '1.0.0'],
  ['containerd 1.6', 'portmap 1.9', '1.0.0'],
  ['containerd 1.6', 'no portmap', '1.0.0'],
  ['containerd 2.4', 'portmap 1.1', '1.0.0'],
  ['containerd 2.4', 'portmap 1.9', '1.1.0'],
];

let node: TestNode;
let containerd: Containerd | undefined;
const at = (...parts: string[]) => join(node.folder, 'site', ...parts);

beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  node = await TestNode.create(['10.80.0.0/24', 'fd80::/64']);
  await node.startAgent();
  for (const folder of ['bin', 'proc', 'sys', 'dev']) {
    mkdirSync(at('rootfs', folder), { recursive: true });
  }
  copyFileSync('/usr/bin/busybox', at('rootfs/bin/busybox'));
}, 120_000);

afterAll(async () => {
  await containerd?.stop();
  await node?.remove();
  await sweepNamespaces({ isOver: true });
});

test.each(pairings)(
  '%s with %s starts a container on our network, by CNI %s, and its end leaves nothing',
  {
    timeout: 120_000,
  },
  async (runtime, portmap, version) => {
    const home = at(`${runtime}-${portmap}`.replaceAll(' ', '-'));
    const [binDir, confDir] = [join(home, 'bin'), join(home, 'net.d')];
    for (const folder of [binDir, confDir]) mkdirSync(folder, { recursive: true });
    const portmapFile = await portmaps[portmap]();
    if (portmapFile !== undefined) copyFileSync(portmapFile, join(binDir, 'portmap'));
    const { conflist } = await installCni({ source: ensureShim()!, binDir, confDir });
    containerd = await Containerd.start(home, { programs: await runtimes[runtime]() });

    // In place of /etc/cni/net.d and /opt/cni/bin, for this one process.
    const script = `set -e
    mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work
    mount -t overlay none -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc
    mount -t tmpfs none /opt && mkdir -p /etc/cni/net.d /opt/cni/bin
    mount --bind ${confDir} /etc/cni/net.d && mount --bind ${binDir} /opt/cni/bin
    exec ${containerd.ctrProgram} -a ${containerd.socket} run --rm --cni \
      --rootfs ${at('rootfs')} box /bin/busybox sleep 600`;
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
        expect(child.exitCode, said).toBeNull();
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
    const seen = await eventually(() => containerd!.ctr(...exec, 'ip', 'addr', 'show', 'eth0'));
    for (const address of addresses) expect(seen).toContain(address);
    const { cniVersion, cniVersions = [cniVersion] } = JSON.parse(
      readFileSync(conflist.path, 'utf8'),
    );
    expect(runtime === 'containerd 1.6' ? cniVersion : cniVersions.at(-1)).toBe(version);

    // Not `ctr tasks kill`: that of 2.x would undo the network itself, from this machine's folders.
    const pid = /^box\s+(\d+)/m.exec(await containerd.ctr('tasks', 'ls'))?.[1];
    process.kill(Number(pid), 'SIGKILL');
    expect(await ended, said).toBe(137);
    expect(await node.allocations()).toEqual([]);
    expect((await ip(`-n ${node.namespace.name} -br link`)).match(/^cad\S+/gm)).toBeNull();
    await containerd.stop();
  },
);
