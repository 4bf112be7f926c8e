/** One network namespace in memory: what a kernel keeps for it, and the rules it would enforce. */
import type { Address } from '../../net/address.ts';
import { Prefix } from '../../net/prefix.ts';
import type { KernelEvent } from '../kernel.ts';
import {
  type ForwardingEntry,
  isLinkLocal,
  type Link,
  type LinkAddress,
  type LinkNeighbour,
} from '../link.ts';
import type { MasqueradeRules } from '../masquerade.ts';
import { type KernelRoute, routeKey } from '../route.ts';

export interface FakeLink extends Link {
  addresses: LinkAddress[];
  neighbours: Map<string, LinkNeighbour>;
  forwarding: Map<string, ForwardingEntry>;
  /** The other end of a veth, and where it is. */
  peer?: { namespace: FakeNamespace; name: string };
}

/** Why the kernel would not take a route, as errno. */
type RouteObjection = 'EEXIST' | 'ENETDOWN' | 'ENETUNREACH' | 'ENODEV';

export class FakeNamespace {
  readonly links = new Map<string, FakeLink>();
  /** By routeKey: one route a place. */
  readonly routes = new Map<string, KernelRoute>();
  readonly settings = new Map<string, number>();
  readonly listeners = new Set<(event: KernelEvent) => void>();
  masquerade: MasqueradeRules | undefined;
  #nextIndex = 1;

  constructor() {
    this.addLink({ name: 'lo', kind: '', mac: '00:00:00:00:00:00', mtu: 65536 }).isUp = true;
  }

  addLink(spec: Pick<Link, 'name' | 'kind' | 'mac' | 'mtu'> & Partial<FakeLink>): FakeLink {
    const link: FakeLink = {
      index: this.#nextIndex++,
      isUp: false,
      hasCarrier: false,
      addresses: [],
      neighbours: new Map(),
      forwarding: new Map(),
      ...spec,
    };
    this.links.set(link.name, link);
    this.tellLink(link, 'set');
    return link;
  }

  setUp(link: FakeLink, isUp: boolean): void {
    link.isUp = isUp;
    const other = link.peer?.namespace.links.get(link.peer.name);
    link.hasCarrier = isUp && (other?.isUp ?? true);
    if (other) other.hasCarrier = link.hasCarrier;
    if (!isUp) this.#dropRoutesOf(link.name);
    this.tellLink(link, 'set');
  }

  /** With its other end, and everything that hangs on either. */
  removeLink(name: string): boolean {
    const link = this.links.get(name);
    if (!link) return false;
    this.links.delete(name);
    this.#dropRoutesOf(name);
    this.tellLink(link, 'removed');
    link.peer?.namespace.removeLink(link.peer.name);
    return true;
  }

  /** As when the last reference to the namespace goes. */
  destroy(): void {
    for (const name of [...this.links.keys()]) this.removeLink(name);
  }

  /** What the kernel would say to a settled route; `mayReplace` for a place that is ours. */
  objection(route: KernelRoute, mayReplace: boolean): RouteObjection | undefined {
    if (!mayReplace && this.routes.has(routeKey(route))) return 'EEXIST';
    if (route.type !== 'unicast') return undefined;
    const link = this.links.get(route.device ?? this.#deviceTowards(route.via)?.name ?? '');
    if (!link) return route.device === undefined ? 'ENETUNREACH' : 'ENODEV';
    if (!link.isUp) return 'ENETDOWN';
    if (route.via && !route.isOnLink && !isLinkLocal(route.via)) {
      if (this.#deviceTowards(route.via) !== link) return 'ENETUNREACH';
    }
    return undefined;
  }

  putRoute(route: KernelRoute): void {
    const device = route.device ?? this.#deviceTowards(route.via)?.name;
    const held = device === undefined ? route : { ...route, device };
    this.routes.set(routeKey(held), held);
    this.emit({ kind: 'route', change: 'set', route: held });
  }

  dropRoute(route: KernelRoute): void {
    if (!this.routes.delete(routeKey(route))) return;
    this.emit({ kind: 'route', change: 'removed', route });
  }

  emit(event: KernelEvent): void {
    for (const listener of this.listeners) {
      setImmediate(() => {
        if (this.listeners.has(listener)) listener(event);
      });
    }
  }

  tellLink(link: FakeLink, change: 'set' | 'removed'): void {
    this.emit({ kind: 'link', change, link: plainLink(link) });
  }

  #deviceTowards(via: Address | undefined): FakeLink | undefined {
    if (!via) return undefined;
    return [...this.links.values()].find(
      ({ isUp, addresses }) =>
        isUp && addresses.some(({ address, length }) => Prefix.of(address, length).contains(via)),
    );
  }

  /** Silently, as in Linux: the interface's own event stands for them. */
  #dropRoutesOf(device: string): void {
    for (const [key, route] of this.routes) if (route.device === device) this.routes.delete(key);
  }
}

export function plainLink(link: FakeLink): Link {
  const { index, name, kind, mac, mtu, isUp, hasCarrier, tunnel, alias } = link;
  return {
    ...{ index, name, kind, mac, mtu, isUp, hasCarrier },
    ...(tunnel ? { tunnel } : {}),
    ...(alias ? { alias } : {}),
  };
}
