/** What a person sees when the machine cannot: no rights, no program, no namespace. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NetlinkKernel } from '../../src/kernel/netlink-kernel.ts';
import { a, p } from './contract.ts';
import { addNamespace, deleteNamespace, type Namespace, sweepNamespaces } from './namespaces.ts';

let namespace: Namespace;
beforeAll(async () => {
  await sweepNamespaces({ isOver: false });
  namespace = await addNamespace();
});
afterAll(() => deleteNamespace(namespace));

const nobody = 65534;

async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

test('without the right to change the network: KERNEL_NOT_PERMITTED, and what to do', async () => {
  const notPermitted = { code: 'KERNEL_NOT_PERMITTED', remedy: expect.stringContaining('root') };
  await asNobody(async () => {
    const own = new NetlinkKernel();
    expect((await own.links()).length).toBeGreaterThan(0);
    await expect(own.createVeth({ name: 'cadv', peerName: 'cadw' })).rejects.toMatchObject(
      notPermitted,
    );
    const elsewhere = new NetlinkKernel({ netnsPath: namespace.path });
    await expect(elsewhere.links()).rejects.toMatchObject(notPermitted);
    own.close();
    elsewhere.close();
  });
});

test('without nft: KERNEL_LACKS, and what to install', async () => {
  const path = process.env.PATH;
  for (const netnsPath of [undefined, namespace.path]) {
    const kernel = new NetlinkKernel({ netnsPath });
    process.env.PATH = '/nonexistent';
    try {
      await expect(kernel.masquerade()).rejects.toMatchObject({
        code: 'KERNEL_LACKS',
        remedy: expect.stringContaining('nftables'),
      });
    } finally {
      process.env.PATH = path;
      kernel.close();
    }
  }
});

test('a file that is no namespace: NAMESPACE_GONE', () => {
  const open = () => new NetlinkKernel({ netnsPath: '/etc/hostname' });
  expect(open).toThrowError(expect.objectContaining({ code: 'NAMESPACE_GONE' }));
});

test('after close: KERNEL_UNAVAILABLE, for those who wait too', async () => {
  const kernel = new NetlinkKernel({ netnsPath: namespace.path });
  const many = Array.from({ length: 100 }, () => kernel.links());
  kernel.close();
  const closed = { code: 'KERNEL_UNAVAILABLE' };
  const outcomes = await Promise.allSettled(many);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(closed);
  }
  await expect(
    kernel.setRoutes([{ prefix: p('10.0.0.0/8'), via: a('10.0.0.1') }]),
  ).rejects.toMatchObject(closed);
});

test("a kernel's refusal carries what was asked and the kernel's own words", async () => {
  const kernel = new NetlinkKernel({ netnsPath: namespace.path });
  try {
    await expect(
      kernel.createTunnel({ kind: 'vxlan', name: 'cad.vxlan', vni: 1 << 24 }),
    ).rejects.toMatchObject({
      code: 'KERNEL_REFUSED',
      message: expect.stringMatching(/create the vxlan interface cad\.vxlan: ERANGE \(.+\)/),
    });
  } finally {
    kernel.close();
  }
});
