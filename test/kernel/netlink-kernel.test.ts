import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import { a, contractCases, p, type Site } from './contract.ts';
import { addNamespace, deleteNamespace, ip, sweepNamespaces } from './namespaces.ts';

beforeAll(() => sweepNamespaces({ isOver: false }));
afterAll(async () => {
  expect(await sweepNamespaces({ isOver: true }), 'namespaces left behind').toEqual([]);
});

describe('the real kernel', () => {
  contractCases(async (): Promise<Site> => {
    const own = await addNamespace();
    await ip(`-n ${own.name} link add cad0 type veth peer name cad1`);
    await ip(`-n ${own.name} link set cad0 up`);
    await ip(`-n ${own.name} link set cad1 up`);
    await ip(`-n ${own.name} addr add 10.4.0.1/24 dev cad0`);
    await ip(`-n ${own.name} addr add fd04::1/64 dev cad0 nodad`);
    const node = new NetlinkKernel({ netnsPath: own.path });
    const namespaces = [own];
    const opened = [node];
    return {
      node,
      async makeNamespace() {
        const namespace = await addNamespace();
        namespaces.push(namespace);
        return namespace.path;
      },
      async removeNamespace(path) {
        await deleteNamespace(namespaces.find((each) => each.path === path) ?? own);
      },
      inside(path) {
        const kernel = new NetlinkKernel({ netnsPath: path });
        opened.push(kernel);
        return kernel;
      },
      async addForeignRoute(prefix) {
        await ip(`-n ${own.name} route add ${prefix} dev cad0 proto static`);
      },
      async removeAsAnother(prefix) {
        await ip(`-n ${own.name} route del ${prefix}`);
      },
      async close() {
        for (const kernel of opened) kernel.close();
        for (const namespace of namespaces) await deleteNamespace(namespace);
      },
    };
  });
});

test('Geneve is made where the kernel has it, and refused by name where not', async () => {
  const namespace = await addNamespace();
  const kernel = new NetlinkKernel({ netnsPath: namespace.path });
  try {
    const link = await kernel.createTunnel({ kind: 'geneve', name: 'cad.geneve' });
    expect(link.tunnel).toEqual({ vni: 0, port: 6081, isExternal: true });
  } catch (error) {
    expect(error).toMatchObject({
      code: 'KERNEL_LACKS',
      message: expect.stringContaining('this kernel has no geneve'),
    });
  } finally {
    kernel.close();
    await deleteNamespace(namespace);
  }
});

/** A node with an uplink, for one test. */
async function onNode(work: (kernel: NetlinkKernel, name: string) => Promise<void>): Promise<void> {
  const namespace = await addNamespace();
  const { name, path } = namespace;
  await ip(`-n ${name} link add cad0 type veth peer name cad1`);
  await ip(`-n ${name} link set cad0 up`);
  await ip(`-n ${name} link set cad1 up`);
  await ip(`-n ${name} addr add 10.4.0.1/24 dev cad0`);
  await ip(`-n ${name} addr add fd04::1/64 dev cad0 nodad`);
  const kernel = new NetlinkKernel({ netnsPath: path });
  try {
    await work(kernel, name);
  } finally {
    kernel.close();
    await deleteNamespace(namespace);
  }
}

test('routes of ours that somebody gave several next hops are repaired, and removed', async () => {
  await onNode(async (kernel, name) => {
    const wanted = [
      { prefix: p('10.5.2.0/24'), via: a('10.4.0.2'), device: 'cad0' },
      { prefix: p('fd05:2::/64'), via: a('fd04::2'), device: 'cad0' },
    ];
    const split = async () => {
      const hops = (net: string) => `nexthop via ${net}2 dev cad0 nexthop via ${net}3 dev cad0`;
      await ip(`-n ${name} route replace 10.5.2.0/24 proto 83 ${hops('10.4.0.')}`);
      await ip(`-n ${name} -6 route replace fd05:2::/64 proto 83 ${hops('fd04::')}`);
      const held = await kernel.routes({ protocol: 83 });
      expect(held.map(({ nextHopCount }) => nextHopCount)).toEqual([2, 2]);
    };
    await split();
    expect(await kernel.setRoutes(wanted)).toMatchObject({ replaced: 2, refused: [] });
    expect(await kernel.setRoutes(wanted)).toMatchObject({ unchanged: 2, replaced: 0 });
    await split();
    expect(await kernel.setRoutes([])).toMatchObject({ removed: 2, refused: [] });
    expect(await kernel.routes({ protocol: 83 })).toEqual([]);
  });
});

test('pods that come and go at random, many at a time, leave nothing', async () => {
  await onNode(async (kernel) => {
    const before = [(await kernel.links()).length, (await kernel.routes()).length];
    const places = await Promise.all(Array.from({ length: 12 }, () => addNamespace()));
    await Promise.all(
      places.map(async ({ path }, index) => {
        const wiring = {
          netnsPath: path,
          ifName: 'eth0',
          hostIfName: `cadpod${index}`,
          addresses: [a(`10.5.1.${index}`), a(`fd05::${index}`)],
        };
        for (let round = 0; round < 6; round++) {
          await kernel.wirePod(wiring);
          // Twice at once, as a runtime that lost patience does.
          const answers = await Promise.all([kernel.unwirePod(wiring), kernel.unwirePod(wiring)]);
          expect(answers).toContain(true);
        }
        await kernel.wirePod(wiring);
        expect(await kernel.checkPod(wiring)).toEqual({ kind: 'fine' });
      }),
    );
    // Half of the pods' namespaces go first, as on a kill -9 of everything.
    for (const place of places.slice(0, 6)) await deleteNamespace(place);
    await Promise.all(places.map((_, index) => kernel.unwirePod({ hostIfName: `cadpod${index}` })));
    for (const place of places) await deleteNamespace(place);
    expect([(await kernel.links()).length, (await kernel.routes()).length]).toEqual(before);
  });
});

test('a namespace that lives only in a process is opened by its pid, and is gone with it', async () => {
  await onNode(async (kernel) => {
    const child = spawn('unshare', ['--net', 'sleep', '60']);
    try {
      const netnsPath = `/proc/${child.pid}/ns/net`;
      const ours = readlinkSync('/proc/self/ns/net');
      await expect.poll(() => readlinkSync(netnsPath)).not.toBe(ours);
      expect(await kernel.hasNamespace(netnsPath)).toBe(true);
      const wiring = {
        netnsPath,
        ifName: 'eth0',
        hostIfName: 'cadpod',
        addresses: [a('10.5.1.7')],
      };
      await kernel.wirePod(wiring);
      expect(await kernel.checkPod(wiring)).toEqual({ kind: 'fine' });
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
      await expect.poll(() => kernel.hasNamespace(netnsPath)).toBe(false);
      await kernel.unwirePod(wiring);
      expect(await kernel.link('cadpod')).toBeUndefined();
      await expect(kernel.wirePod(wiring)).rejects.toMatchObject({ code: 'NAMESPACE_GONE' });
    } finally {
      child.kill('SIGKILL');
    }
  });
});
