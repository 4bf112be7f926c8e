/** Pod wiring in memory: the same interface configuration, the same refusals, all or nothing. */
import { CadastreError } from '../../base/errors.ts';
import { KernelError } from '../kernel-error.ts';
import { assertOurLink, derivedMac } from '../link.ts';
import { type PodWiring, podInterfaceConfig, type WiredPod } from '../pod.ts';
import type { PodEnd } from '../pod-check.ts';
import {
  type KernelRoute,
  podRouteProtocol,
  type RouteSpec,
  routeKey,
  routeText,
  settleRoute,
} from '../route.ts';
import { type FakeLink, type FakeNamespace, plainLink } from './fake-namespace.ts';

const defaultMtu = 1500;

export function wireFakePod(
  host: FakeNamespace,
  pod: FakeNamespace | undefined,
  wiring: PodWiring,
): WiredPod {
  assertOurLink(wiring.hostIfName);
  if (!pod) throw namespaceGone(wiring.netnsPath);
  const { hostIfName, ifName, netnsPath, mtu = defaultMtu } = wiring;
  if (host.links.has(hostIfName)) throw linkExists(`${hostIfName} on the host`);
  if (pod.links.has(ifName)) throw linkExists(`${ifName} in ${netnsPath}`);
  const hostMac = derivedMac(`host ${hostIfName}`);
  const podMac = (wiring.mac ?? derivedMac(`pod ${hostIfName}`)).toLowerCase();
  const config = podInterfaceConfig(wiring);

  const alias = wiring.alias === undefined ? {} : { alias: wiring.alias };
  const near = host.addLink({ name: hostIfName, kind: 'veth', mac: hostMac, mtu, ...alias });
  const far = pod.addLink({ name: ifName, kind: 'veth', mac: podMac, mtu });
  near.peer = { namespace: pod, name: ifName };
  far.peer = { namespace: host, name: hostIfName };
  try {
    pod.setUp(far, true);
    far.addresses.push(...config.podAddresses);
    addRoutes(pod, config.podRoutes);
    host.setUp(near, true);
    near.addresses.push(...config.hostAddresses);
    addRoutes(host, config.hostRoutes);
  } catch (error) {
    host.removeLink(hostIfName);
    throw error;
  }
  return { hostMac, podMac, mtu };
}

/** The host's side again, as far as it is not there. */
export function repairFakePod(host: FakeNamespace, near: FakeLink, wiring: PodWiring): void {
  const { hostAddresses, hostRoutes } = podInterfaceConfig(wiring);
  if (!near.isUp) host.setUp(near, true);
  const held = new Set(near.addresses.map(({ address }) => address.toString()));
  near.addresses.push(...hostAddresses.filter(({ address }) => !held.has(address.toString())));
  addRoutes(
    host,
    hostRoutes.filter((route) => !host.routes.has(routeKey(settleRoute(route)))),
  );
}

function addRoutes(namespace: FakeNamespace, routes: readonly RouteSpec[]): void {
  for (const route of routes) {
    const held: KernelRoute = { ...settleRoute(route), protocol: podRouteProtocol };
    const objection = namespace.objection(held, false);
    if (objection) throw new KernelError(`add the route ${routeText(held)}`, objection);
    namespace.putRoute(held);
  }
}

export function fakeEnd(namespace: FakeNamespace, name: string): PodEnd | undefined {
  const link = namespace.links.get(name);
  if (!link) return undefined;
  return {
    link: plainLink(link),
    addresses: link.addresses,
    routes: [...namespace.routes.values()],
  };
}

export function namespaceGone(path: string): CadastreError {
  return new CadastreError('NAMESPACE_GONE', `there is no network namespace at ${path}`);
}

export function linkExists(where: string): CadastreError {
  return new CadastreError('LINK_EXISTS', `there is already an interface ${where}`);
}
