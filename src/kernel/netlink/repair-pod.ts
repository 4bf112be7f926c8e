/**
 * Puts back what the host's end of a pod has lost to another program: it is up, it
 * has the gateway's address, and the pod's addresses lead to it. What is there
 * already stays. The pod's own end is left alone: whoever is root in a pod may do
 * there as he likes.
 */
import { errnoName, KernelError } from '../kernel-error.ts';
import { assertOurLink } from '../link.ts';
import { type PodWiring, podInterfaceConfig } from '../pod.ts';
import { podRouteProtocol, settleRoute } from '../route.ts';
import { addAddress } from './address-messages.ts';
import { needLink } from './find-link.ts';
import { setLink } from './link-messages.ts';
import { addRoute } from './route-messages.ts';
import type { SocketPool } from './socket.ts';

export async function repairPod(sockets: SocketPool, wiring: PodWiring): Promise<void> {
  assertOurLink(wiring.hostIfName);
  const { hostAddresses, hostRoutes } = podInterfaceConfig(wiring);
  await sockets.use(async (host) => {
    const link = await needLink(host, wiring.hostIfName);
    const device = new Map([[link.name, link.index]]);
    const failures = await host.exchange([
      setLink(link, { isUp: true }),
      ...hostAddresses.map((address) => addAddress(link, address)),
      ...hostRoutes.map((route) => addRoute(settleRoute(route), podRouteProtocol, device)),
    ]);
    for (const { errno, request } of failures) {
      const name = errnoName(errno);
      if (name !== 'EEXIST') throw new KernelError(request.what, name);
    }
  });
}
