import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import { contractCases, type Site } from './contract.ts';
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
      async strangersRoute(prefix) {
        await ip(`-n ${own.name} route add ${prefix} dev cad0 proto static`);
      },
      async strangerRemoves(prefix) {
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
