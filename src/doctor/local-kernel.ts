import { plural } from '../base/count-text.ts';
import { CadastreError } from '../base/errors.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { ClusterNode } from '../model/node.ts';
import { parseAddress } from '../net/address.ts';
import type { KernelTable } from '../plan/doctor/evidence.ts';
import type { Source } from '../plan/doctor/finding.ts';

/**
 * The routes of the machine the doctor runs on, which must be one of the nodes:
 * by its addresses, or by the name that was given. A route is local when it
 * leads to pods of this machine: to a device, or to an address inside itself, as
 * Cilium makes it.
 */
export async function readLocalKernel(
  kernel: Pick<Kernel, 'routes' | 'addresses'>,
  nodes: readonly ClusterNode[],
  given?: string,
): Promise<{ table: KernelTable; source: Source }> {
  const node = given ?? (await whoAmI(kernel, nodes));
  if (node === undefined || !nodes.some(({ name }) => name === node)) {
    const who =
      given === undefined ? 'no Node has an address of this machine' : `there is no Node ${given}`;
    throw new CadastreError('BAD_FLAG', `--kernel: ${who}`, {
      remedy: 'Run it on a node of the cluster, or name the node: --kernel node1.',
    });
  }
  const routes = (await kernel.routes()).flatMap(({ prefix, via, type }) => {
    // The kernel's own: host addresses, link-local, multicast, and the way out.
    if (prefix.length === 0 || prefix.length >= (prefix.family === 'ipv4' ? 32 : 128)) return [];
    const isLocal =
      type === 'blackhole' || type === 'unreachable' || (via !== undefined && prefix.contains(via));
    if (!isLocal && via === undefined) return [];
    return [{ prefix, via: via?.toString(), isLocal }];
  });
  return {
    table: { node, routes },
    source: {
      name: `kernel of ${node}`,
      kind: 'kernel',
      state: 'seen',
      ageSeconds: 0,
      holds: plural(routes.length, 'route'),
    },
  };
}

async function whoAmI(
  kernel: Pick<Kernel, 'addresses'>,
  nodes: readonly ClusterNode[],
): Promise<string | undefined> {
  const own = new Set<string>();
  for (const addresses of (await kernel.addresses()).values()) {
    for (const { address } of addresses) own.add(address.toString());
  }
  return nodes.find(({ addresses }) =>
    addresses.some((text) => own.has(parseAddress(text)?.toString() ?? '')),
  )?.name;
}
