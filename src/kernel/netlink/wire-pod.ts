/**
 * Pod wiring over netlink: five exchanges, most of them several requests in
 * one buffer. The pair is created with EXCL, so what it creates is ours; from
 * then on any failure deletes the host's end, and with it the other end and
 * everything that hangs on either.
 */
import { CadastreError } from '../../base/errors.ts';
import { errnoName, isErrno } from '../kernel-error.ts';
import { assertOurLink } from '../link.ts';
import { type PodWiring, podFurniture, type WiredPod } from '../pod.ts';
import { podRouteProtocol, settle } from '../route.ts';
import { addAddress } from './address-messages.ts';
import { findLink, needLink } from './find-link.ts';
import { deleteLink, newVeth, setLink, withoutOwnLinkLocal } from './link-messages.ts';
import { closeNamespace, openNamespace } from './namespace.ts';
import { addRoute } from './route-messages.ts';
import { writeSetting } from './settings.ts';
import { NetlinkSocket, type SocketPool } from './socket.ts';

export async function wirePod(sockets: SocketPool, wiring: PodWiring): Promise<WiredPod> {
  assertOurLink(wiring.hostIfName);
  const podNamespace = openNamespace(wiring.netnsPath);
  try {
    return await sockets.use(async (host) => {
      await createPair(host, wiring, podNamespace);
      try {
        return await furnish(host, wiring, podNamespace);
      } catch (error) {
        const leftover = await findLink(host, wiring.hostIfName);
        if (leftover) await host.exchange([deleteLink(leftover)]);
        throw error;
      }
    });
  } finally {
    closeNamespace(podNamespace);
  }
}

async function createPair(host: NetlinkSocket, wiring: PodWiring, podNamespace: number) {
  const { hostIfName, ifName, netnsPath, mtu, mac } = wiring;
  const spec = {
    name: hostIfName,
    peerName: ifName,
    ...(mtu === undefined ? {} : { mtu }),
    ...(mac === undefined ? {} : { peerMac: mac }),
  };
  try {
    await host.run([newVeth(spec, podNamespace)]);
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) throw cause;
    // One errno for either end; the one on the host can be asked for.
    const isHostEnd = await findLink(host, hostIfName);
    const where = isHostEnd ? `${hostIfName} on the host` : `${ifName} in ${netnsPath}`;
    throw new CadastreError('LINK_EXISTS', `there is already an interface ${where}`, { cause });
  }
}

async function furnish(
  host: NetlinkSocket,
  wiring: PodWiring,
  podNamespace: number,
): Promise<WiredPod> {
  const hostLink = await needLink(host, wiring.hostIfName);
  const furniture = podFurniture(wiring);
  const pod = new NetlinkSocket(podNamespace);
  try {
    const podLink = await needLink(pod, wiring.ifName);
    const inPod = [
      setLink(podLink, { isUp: true }),
      ...furniture.podAddresses.map((address) => addAddress(podLink, address)),
      ...furniture.podRoutes.map((route) =>
        addRoute(settle(route), podRouteProtocol, new Map([[podLink.name, podLink.index]])),
      ),
    ];
    try {
      await pod.run(inPod);
    } catch (error) {
      // EACCES is how the kernel says that IPv6 is switched off on the interface, as some
      // runtimes do for every new namespace. An address asked for is a wish to have it on.
      if (!isErrno(error, 'EACCES')) throw error;
      writeSetting(podNamespace, { kind: 'disableIpv6', link: podLink.name }, 0);
      const again = (await pod.exchange(inPod)).filter(
        ({ errno }) => errnoName(errno) !== 'EEXIST',
      );
      if (again.length > 0) throw error;
    }
    const hasIpv6 = wiring.addresses.some(({ family }) => family === 'ipv6');
    await host.run([
      // Not on a host whose kernel has no IPv6 at all.
      ...(hasIpv6 ? [withoutOwnLinkLocal(hostLink)] : []),
      setLink(hostLink, { isUp: true }),
      ...furniture.hostAddresses.map((address) => addAddress(hostLink, address)),
      ...furniture.hostRoutes.map((route) =>
        addRoute(settle(route), podRouteProtocol, new Map([[hostLink.name, hostLink.index]])),
      ),
    ]);
    return { hostMac: hostLink.mac, podMac: podLink.mac, mtu: podLink.mtu };
  } finally {
    pod.close();
  }
}
