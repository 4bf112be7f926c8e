/**
 * Pod wiring over netlink: three exchanges, the last two at the same time, each
 * of several requests in one buffer. An exchange costs two changes of thread,
 * which is more than most of what the kernel does in it (creating the pair
 * apart). The pair is created with EXCL, so what it creates is ours; from
 * then on any failure deletes the host's end, and with it the other end and
 * everything that hangs on either.
 */
import { CadastreError } from '../../base/errors.ts';
import { errnoName, isErrno } from '../kernel-error.ts';
import { assertOurLink, type Link } from '../link.ts';
import {
  type PodInterfaceConfig,
  type PodWiring,
  podInterfaceConfig,
  type WiredPod,
} from '../pod.ts';
import { podRouteProtocol, settleRoute } from '../route.ts';
import { addAddress } from './address-messages.ts';
import { findLink, needLink } from './find-link.ts';
import {
  deleteLink,
  getLink,
  newVeth,
  readLink,
  readPeerIndex,
  setLink,
  withoutOwnLinkLocal,
} from './link-messages.ts';
import { closeNamespace, openNamespace } from './namespace.ts';
import { addRoute } from './route-messages.ts';
import type { KernelSettings } from './settings.ts';
import { NetlinkSocket, type SocketPool } from './socket.ts';

export async function wirePod(
  sockets: SocketPool,
  settings: KernelSettings,
  wiring: PodWiring,
): Promise<WiredPod> {
  assertOurLink(wiring.hostIfName);
  const podNamespace = openNamespace(wiring.netnsPath);
  try {
    return await sockets.use(async (host) => {
      const switchOnIpv6 = (link: string) =>
        settings.write(podNamespace, { kind: 'disableIpv6', link }, 0);
      const pairing = createPair(host, wiring, podNamespace);
      // Opened while the kernel makes the pair: nobody waits for it.
      const pod = tryTo(() => new NetlinkSocket(podNamespace));
      try {
        const pair = await pairing;
        try {
          return await configurePair(host, pod(), pair, wiring, switchOnIpv6);
        } catch (error) {
          const leftover = await findLink(host, wiring.hostIfName);
          if (leftover) await host.exchange([deleteLink(leftover)]);
          throw error;
        }
      } finally {
        tryTo(() => pod().close());
      }
    });
  } finally {
    closeNamespace(podNamespace);
  }
}

/** What came of it, a value or a throw, for whoever asks later. */
function tryTo<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

interface Pair {
  hostLink: Link;
  podIndex: number;
}

async function createPair(
  host: NetlinkSocket,
  wiring: PodWiring,
  podNamespace: number,
): Promise<Pair> {
  const { hostIfName, ifName, netnsPath, mtu, mac } = wiring;
  const spec = {
    name: hostIfName,
    peerName: ifName,
    ...(mtu === undefined ? {} : { mtu }),
    ...(mac === undefined ? {} : { peerMac: mac }),
  };
  try {
    const message = await host.get(getLink(hostIfName), [newVeth(spec, podNamespace)]);
    return { hostLink: readLink(message), podIndex: readPeerIndex(message) };
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) throw cause;
    // One errno for either end; the one on the host can be asked for.
    const isHostEnd = await findLink(host, hostIfName);
    const where = isHostEnd ? `${hostIfName} on the host` : `${ifName} in ${netnsPath}`;
    throw new CadastreError('LINK_EXISTS', `there is already an interface ${where}`, { cause });
  }
}

async function configurePair(
  host: NetlinkSocket,
  pod: NetlinkSocket,
  { hostLink, podIndex }: Pair,
  wiring: PodWiring,
  switchOnIpv6: (link: string) => void,
): Promise<WiredPod> {
  const config = podInterfaceConfig(wiring);
  const end = {
    name: wiring.ifName,
    index: podIndex || (await needLink(pod, wiring.ifName)).index,
  };
  // Both have ended, whichever fails, before anything is undone or closed.
  const [inPod, onHost] = await Promise.allSettled([
    configurePod(pod, end, switchOnIpv6, config),
    configureHost(host, hostLink, config, wiring.alias),
  ]);
  if (inPod.status === 'rejected') throw inPod.reason;
  if (onHost.status === 'rejected') throw onHost.reason;
  const { mac, mtu } = inPod.value;
  return { hostMac: hostLink.mac, podMac: mac, mtu };
}

async function configurePod(
  pod: NetlinkSocket,
  end: { name: string; index: number },
  switchOnIpv6: (link: string) => void,
  { podAddresses, podRoutes }: PodInterfaceConfig,
): Promise<Link> {
  const steps = [
    setLink(end, { isUp: true }),
    ...podAddresses.map((address) => addAddress(end, address)),
    ...podRoutes.map((route) =>
      addRoute(settleRoute(route), podRouteProtocol, new Map([[end.name, end.index]])),
    ),
  ];
  try {
    return readLink(await pod.get(getLink(end.name), steps));
  } catch (error) {
    // EACCES is how the kernel says that IPv6 is switched off on the interface, as some
    // runtimes do for every new namespace. An address asked for is a wish to have it on.
    if (!isErrno(error, 'EACCES')) throw error;
    switchOnIpv6(end.name);
    const again = (await pod.exchange(steps)).filter(({ errno }) => errnoName(errno) !== 'EEXIST');
    if (again.length > 0) throw error;
    return needLink(pod, end.name);
  }
}

async function configureHost(
  host: NetlinkSocket,
  hostLink: Link,
  { hostAddresses, hostRoutes }: PodInterfaceConfig,
  alias: string | undefined,
): Promise<void> {
  const hasIpv6 = hostRoutes.some(({ prefix }) => prefix.family === 'ipv6');
  await host.run([
    // Not on a host whose kernel has no IPv6 at all.
    ...(hasIpv6 ? [withoutOwnLinkLocal(hostLink)] : []),
    setLink(hostLink, { isUp: true, ...(alias === undefined ? {} : { alias }) }),
    ...hostAddresses.map((address) => addAddress(hostLink, address)),
    ...hostRoutes.map((route) =>
      addRoute(settleRoute(route), podRouteProtocol, new Map([[hostLink.name, hostLink.index]])),
    ),
  ]);
}
