/** Compares a pod's wiring with what is there, in sentences for CNI CHECK. */
import type { Link, LinkAddress } from './link.ts';
import { type PodCheck, type PodWiring, podInterfaceConfig } from './pod.ts';
import { type KernelRoute, podRouteProtocol, routeText, settleRoute } from './route.ts';

/** One end, as found. */
export interface PodEnd {
  link: Link;
  addresses: readonly LinkAddress[];
  routes: readonly KernelRoute[];
}

export function comparePod(
  wiring: PodWiring,
  host: PodEnd | undefined,
  pod: PodEnd | 'no namespace' | undefined,
): PodCheck {
  const problems: string[] = [];
  const { hostIfName, ifName, netnsPath, mtu, mac } = wiring;
  if (host === undefined) problems.push(`the host has no interface ${hostIfName}`);
  if (pod === 'no namespace') problems.push(`there is no network namespace at ${netnsPath}`);
  else if (pod === undefined) problems.push(`the pod has no interface ${ifName}`);

  const wanted = podInterfaceConfig(wiring);
  if (host) {
    compareLink(`${hostIfName} on the host`, host.link, mtu, undefined);
    compareAddresses(`${hostIfName} on the host`, wanted.hostAddresses, host.addresses);
    compareRoutes('host', wanted.hostRoutes, host.routes);
  }
  if (pod && pod !== 'no namespace') {
    compareLink(`${ifName} in the pod`, pod.link, mtu, mac);
    compareAddresses(`${ifName} in the pod`, wanted.podAddresses, pod.addresses);
    compareRoutes('pod', wanted.podRoutes, pod.routes);
  }
  return problems.length === 0 ? { kind: 'fine' } : { kind: 'broken', problems };

  function compareLink(
    name: string,
    link: Link,
    wantedMtu: number | undefined,
    wantedMac: string | undefined,
  ) {
    if (!link.isUp) problems.push(`${name} is down`);
    if (wantedMtu !== undefined && link.mtu !== wantedMtu) {
      problems.push(`${name} has MTU ${link.mtu}, not ${wantedMtu}`);
    }
    if (wantedMac !== undefined && link.mac !== wantedMac.toLowerCase()) {
      problems.push(`${name} has the MAC ${link.mac}, not ${wantedMac}`);
    }
  }

  function compareAddresses(
    name: string,
    wishes: readonly LinkAddress[],
    held: readonly LinkAddress[],
  ) {
    const texts = new Set(held.map(({ address, length }) => `${address}/${length}`));
    for (const { address, length } of wishes) {
      if (!texts.has(`${address}/${length}`)) problems.push(`${name} lacks ${address}/${length}`);
    }
  }

  function compareRoutes(
    side: string,
    wishes: readonly Parameters<typeof settleRoute>[0][],
    held: readonly KernelRoute[],
  ) {
    const ours = held.filter(({ protocol }) => protocol === podRouteProtocol);
    const texts = new Set(ours.map((route) => routeText(settleRoute(route))));
    for (const wish of wishes) {
      const text = routeText(settleRoute(wish));
      if (!texts.has(text)) problems.push(`the ${side} lacks the route ${text}`);
    }
  }
}
