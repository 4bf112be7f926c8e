import { podGateways, type WiredPod } from '../../kernel/pod.ts';
import type { Address } from '../../net/address.ts';
import { familyBits } from '../../net/family.ts';
import type { AddressBook } from '../address-book.ts';
import type { CniConfig, CniVersion } from './cni-call.ts';

/** Until 0.4.0 every address says its version too. */
function ip(cniVersion: CniVersion, address: Address, more: object): object {
  const version = address.family === 'ipv4' ? '4' : '6';
  return cniVersion < '1.0.0' ? { version, ...more } : more;
}

/** The result of a whole ADD: both ends, each address as a host route, the default routes. */
export function addResult(
  config: CniConfig,
  pod: { ifname: string; netns: string; hostIfName: string; addresses: readonly Address[] },
  wired: WiredPod,
): object {
  const { cniVersion } = config;
  const mtu = cniVersion >= '1.1.0' ? { mtu: wired.mtu } : {};
  return {
    cniVersion,
    interfaces: [
      { name: pod.hostIfName, mac: wired.hostMac, ...mtu },
      { name: pod.ifname, mac: wired.podMac, ...mtu, sandbox: pod.netns },
    ],
    ips: pod.addresses.map((address) =>
      ip(cniVersion, address, {
        interface: 1,
        address: `${address}/${familyBits(address.family)}`,
        gateway: podGateways[address.family].toString(),
      }),
    ),
    routes: pod.addresses.map(({ family }) => ({
      dst: family === 'ipv4' ? '0.0.0.0/0' : '::/0',
      gw: podGateways[family].toString(),
    })),
    dns: config.dns ?? {},
  };
}

/** For the plugin that asked: the address in its block, and the block's gateway. */
export function ipamResult(
  config: CniConfig,
  addresses: readonly Address[],
  book: AddressBook,
): object {
  const { cniVersion } = config;
  return {
    cniVersion,
    ips: addresses.map((address) => {
      const gateway = book.gatewayOf(address);
      // Without a gateway of its own the block is of two or one: a host route then.
      const length = gateway && book.blockOf(address)?.length;
      return ip(cniVersion, address, {
        address: `${address}/${length ?? familyBits(address.family)}`,
        ...(gateway === undefined ? {} : { gateway: gateway.toString() }),
      });
    }),
    routes: config.ipamRoutes,
    dns: config.dns ?? {},
  };
}
