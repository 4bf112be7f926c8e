/**
 * What an agent leaves in the kernel of its node. Pods that run keep what is theirs: their
 * interfaces, with the gateway on the host's end, the routes to them, and forwarding.
 */
import type { Kernel } from '../../kernel/kernel.ts';
import { nodeRouteProtocol, podRouteProtocol } from '../../kernel/route.ts';
import { tunnelDevices } from '../route-reconciler.ts';
import type { Removal } from './remove-files.ts';

/** Routes to blocks of other nodes, and what made the unused rest of the own ones unreachable. */
export async function removeRoutes(kernel: Kernel): Promise<Removal> {
  const held = await kernel.routes({ protocol: nodeRouteProtocol });
  if (held.length > 0) await kernel.setRoutes([], nodeRouteProtocol);
  const removed =
    held.length === 0 ? [] : [`${held.length} routes (protocol ${nodeRouteProtocol})`];
  for (const name of tunnelDevices) {
    if ((await kernel.link(name)) === undefined) continue;
    await kernel.deleteLink(name);
    removed.push(`interface ${name}`);
  }
  const ofPods = (await kernel.routes({ protocol: podRouteProtocol })).length;
  const kept =
    ofPods === 0
      ? []
      : [`${ofPods} routes to pods that run (protocol ${podRouteProtocol}), with their interfaces`];
  return { removed, kept };
}

export async function removeMasquerade(kernel: Kernel): Promise<Removal> {
  if ((await kernel.masquerade()) === undefined) return { removed: [], kept: [] };
  await kernel.setMasquerade(undefined);
  return { removed: ['nftables table inet cadastre'], kept: [] };
}
