/** Network interfaces, their addresses, and what hangs on them; and which names are ours. */
import { createHash } from 'node:crypto';
import { CadastreError } from '../base/errors.ts';
import type { Address } from '../net/address.ts';

/** Interfaces whose names start so are ours. Nothing else is ever changed or deleted. */
const linkPrefix = 'cad';

/** The kernel keeps 16 bytes for a name, one of them the end. */
const maxNameLength = 15;

export interface Link {
  index: number;
  name: string;
  /** `veth`, `vxlan`, `geneve`, …; empty for hardware and loopback. */
  kind: string;
  mac: string;
  mtu: number;
  isUp: boolean;
  /** Up, and so is the other end. */
  hasCarrier: boolean;
  tunnel?: TunnelSettings;
  /** Words that somebody left on it; `ip link` shows them. */
  alias?: string;
}

export interface TunnelSettings {
  vni: number;
  port: number;
  /** Whether the outer header comes from the route (`Route.tunnel`) instead of the FDB. */
  isExternal: boolean;
  /** Source address of the outer packets. */
  local?: Address;
}

export interface VethSpec {
  name: string;
  peerName: string;
  /** Where the other end is born; absent: beside this one. */
  peerNetnsPath?: string;
  mtu?: number;
  mac?: string;
  peerMac?: string;
}

export interface TunnelSpec extends Omit<TunnelSettings, 'port' | 'vni' | 'isExternal'> {
  /** Geneve has no FDB: it is always external. */
  kind: 'vxlan' | 'geneve';
  name: string;
  /** 1 to 16777215; an external device takes it from the route. */
  vni?: number;
  /** Default: 8472 for VXLAN as Cilium and flannel have it, 6081 for Geneve. */
  port?: number;
  isExternal?: boolean;
  mtu?: number;
  /** Another one on each node: a frame from the receiver's own MAC is dropped as a loop. */
  mac?: string;
}

export const tunnelPorts = { vxlan: 8472, geneve: 6081 } as const;

export interface LinkChange {
  isUp?: boolean;
  mtu?: number;
  mac?: string;
  /** At most 255 bytes. */
  alias?: string;
}

/** An address on an interface. */
export interface LinkAddress {
  address: Address;
  /** Of the network around it. */
  length: number;
  /** IPv4: never chosen as the source of what this host sends (scope host). Not read back. */
  isNeverSource?: boolean;
}

/** Who answers to an address on a link; ours are permanent: never asked for, never forgotten. */
export interface LinkNeighbour {
  address: Address;
  mac: string;
}

/** Behind which underlay address a MAC lives, for a VXLAN device that is not external. */
export interface ForwardingEntry {
  mac: string;
  remote: Address;
}

export function isOurLink(name: string): boolean {
  return name.startsWith(linkPrefix);
}

export function assertOurLink(name: string): void {
  if (name.length > maxNameLength || !/^[\w.:-]+$/.test(name)) {
    throw new CadastreError('BAD_INPUT', `"${name}" cannot be the name of an interface`);
  }
  if (isOurLink(name)) return;
  throw new CadastreError(
    'BAD_INPUT',
    `the interface ${name} is not ours: those have names that start with "${linkPrefix}"`,
  );
}

/** The host's end of a pod's interface: the same for the same pod, as far as 48 bits tell. */
export function hostLinkName(containerId: string, ifName: string): string {
  const hash = createHash('sha256').update(`${containerId}\0${ifName}`).digest('hex');
  return `${linkPrefix}${hash.slice(0, 12)}`;
}

/** Whether hostLinkName could have made it. */
export function isPodLink(name: string): boolean {
  return /^cad[0-9a-f]{12}$/.test(name);
}

/** A locally administered MAC that everyone derives alike from the same words. */
export function derivedMac(words: string): string {
  const hash = createHash('sha256').update(words).digest();
  const first = ((hash[0] as number) & 0xfc) | 0x02;
  return [first, ...hash.subarray(1, 6)].map((b) => b.toString(16).padStart(2, '0')).join(':');
}

/** fe80::/10, which every interface gives itself. */
export function isLinkLocal(address: Address): boolean {
  return address.family === 'ipv6' && (address.w0 & 0xffc00000) >>> 0 === 0xfe800000;
}
