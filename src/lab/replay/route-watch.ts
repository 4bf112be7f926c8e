/**
 * Every route that enters or leaves a router's kernel, as it happens: a look
 * from time to time would miss one that is gone for a moment.
 */
import { NetlinkKernel } from '../../kernel/netlink-kernel.ts';
import { mainTable } from '../../kernel/route.ts';
import type { Lab } from '../lab.ts';
import { namespacePath } from '../namespaces.ts';

export interface RouteEvent {
  /** A router, or a node. */
  readonly router: string;
  readonly change: 'set' | 'removed';
  readonly prefix: string;
  readonly nextHop: string;
}

/** Until the returned function is called. */
export function watchRoutes(
  lab: Lab,
  machines: readonly string[],
  onEvent: (event: RouteEvent) => void,
): () => void {
  const kernels = machines.map((name) => {
    const kernel = new NetlinkKernel({ netnsPath: namespacePath(lab.namespace(name)) });
    kernel.watch((event) => {
      if (event.kind !== 'route') return;
      const { prefix, via, table = mainTable } = event.route;
      const text = prefix.toString();
      const isHost = prefix.length === (prefix.family === 'ipv4' ? 32 : 128);
      if (isHost || table !== mainTable || lab.isSubnet(text) || via === undefined) return;
      const { change } = event;
      onEvent({ router: name, change, prefix: text, nextHop: via.toString() });
    });
    return kernel;
  });
  return () => {
    for (const kernel of kernels) kernel.close();
  };
}
