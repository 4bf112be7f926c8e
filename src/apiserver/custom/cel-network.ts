/** Kubernetes' own CEL functions about addresses and networks. */
import type { Environment } from '@marcbachmann/cel-js';
import {
  contains,
  firstOf,
  formatAddress,
  formatNetwork,
  type Network,
  parseIp,
  parseNetwork,
  widthOf,
} from '../builtin/address.ts';

/** Types of the language: it tells values apart by their class. */
class Ip {
  readonly family: 4 | 6;
  readonly value: bigint;

  constructor(text: string) {
    const parsed = strictAddress(text);
    if (parsed === undefined) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
    this.family = parsed.family;
    this.value = parsed.value;
  }

  get text(): string {
    return formatAddress(this.family, this.value);
  }
}

/** What `ip` is in `ip.isCanonical(text)`. */
class IpFunctions {}

class Cidr {
  readonly network: Network;

  constructor(text: string) {
    const network = strictNetwork(text);
    if (network === undefined)
      throw new Error(`network address parse error: ${JSON.stringify(text)}`);
    this.network = network;
  }
}

/** No zones, and no IPv4 dressed up as IPv6. */
function strictAddress(text: string) {
  const parsed = parseIp(text);
  const isMapped = parsed?.family === 6 && parsed.value >> 32n === 0xffffn;
  return isMapped ? undefined : parsed;
}

function strictNetwork(text: string): Network | undefined {
  return strictAddress(text.split('/')[0] ?? '') === undefined ? undefined : parseNetwork(text);
}

const inside = (outer: Network, { family, value }: Ip) =>
  contains(outer, { family, address: value, length: widthOf(family) });

function masked({ network }: Cidr): Cidr {
  return new Cidr(formatNetwork({ ...network, address: firstOf(network) }));
}

const top = (ip: Ip, bits: number) => ip.value >> BigInt(widthOf(ip.family) - bits);
const v4 = (ip: Ip, text: string) => ip.family === 4 && inside(parseNetwork(text) as Network, ip);
const v6 = (ip: Ip, text: string) => ip.family === 6 && inside(parseNetwork(text) as Network, ip);

export function registerNetworks(environment: Environment): Environment {
  return environment
    .registerType('net.IP', { ctor: Ip, fields: {} })
    .registerType('net.CIDR', { ctor: Cidr, fields: {} })
    .registerFunction('isIP(string): bool', (text: string) => strictAddress(text) !== undefined)
    .registerFunction('ip(string): net.IP', (text: string) => new Ip(text))
    .registerType('IpFunctions', { ctor: IpFunctions, fields: {} })
    .registerConstant('ip', 'IpFunctions', new IpFunctions())
    .registerFunction(
      'IpFunctions.isCanonical(string): bool',
      (_: IpFunctions, text: string) => new Ip(text).text === text,
    )
    .registerFunction('string(net.IP): string', (ip: Ip) => ip.text)
    .registerFunction('net.IP.family(): int', (ip: Ip) => BigInt(ip.family))
    .registerFunction('net.IP.isUnspecified(): bool', (ip: Ip) => ip.value === 0n)
    .registerFunction(
      'net.IP.isLoopback(): bool',
      (ip: Ip) => v4(ip, '127.0.0.0/8') || (ip.family === 6 && ip.value === 1n),
    )
    .registerFunction(
      'net.IP.isLinkLocalMulticast(): bool',
      (ip: Ip) =>
        v4(ip, '224.0.0.0/24') || (ip.family === 6 && (top(ip, 16) & 0xff0fn) === 0xff02n),
    )
    .registerFunction(
      'net.IP.isLinkLocalUnicast(): bool',
      (ip: Ip) => v4(ip, '169.254.0.0/16') || v6(ip, 'fe80::/10'),
    )
    .registerFunction('net.IP.isGlobalUnicast(): bool', isGlobalUnicast)
    .registerFunction('isCIDR(string): bool', (text: string) => strictNetwork(text) !== undefined)
    .registerFunction('cidr(string): net.CIDR', (text: string) => new Cidr(text))
    .registerFunction('string(net.CIDR): string', ({ network }: Cidr) => formatNetwork(network))
    .registerFunction('net.CIDR.ip(): net.IP', ({ network }: Cidr) => {
      return new Ip(formatAddress(network.family, network.address));
    })
    .registerFunction('net.CIDR.masked(): net.CIDR', masked)
    .registerFunction('net.CIDR.prefixLength(): int', ({ network }: Cidr) => BigInt(network.length))
    .registerFunction('net.CIDR.containsIP(net.IP): bool', ({ network }: Cidr, ip: Ip) =>
      inside(network, ip),
    )
    .registerFunction('net.CIDR.containsIP(string): bool', ({ network }: Cidr, text: string) =>
      inside(network, new Ip(text)),
    )
    .registerFunction('net.CIDR.containsCIDR(net.CIDR): bool', (outer: Cidr, inner: Cidr) =>
      contains(outer.network, inner.network),
    )
    .registerFunction('net.CIDR.containsCIDR(string): bool', (outer: Cidr, inner: string) =>
      contains(outer.network, new Cidr(inner).network),
    );
}

function isGlobalUnicast(ip: Ip): boolean {
  if (ip.value === 0n) return false;
  if (ip.family === 4) {
    const isSpecial = ['127.0.0.0/8', '224.0.0.0/4', '169.254.0.0/16', '255.255.255.255/32'];
    return !isSpecial.some((text) => v4(ip, text));
  }
  return ip.value !== 1n && !v6(ip, 'ff00::/8') && !v6(ip, 'fe80::/10');
}
