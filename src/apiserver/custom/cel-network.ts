/** Kubernetes' own CEL functions about addresses and networks. */
import type { Environment } from '@marcbachmann/cel-js';
import { type Address, parseAddress } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/** Types of the language: it tells values apart by their class. */
class Ip {
  readonly address: Address;

  constructor(text: string) {
    const address = strictAddress(text);
    if (address === undefined) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
    this.address = address;
  }
}

/** What `ip` is in `ip.isCanonical(text)`. */
class IpFunctions {}

/** With the bits behind the prefix as they were written. */
class Cidr {
  readonly ip: Ip;
  readonly prefix: Prefix;

  constructor(text: string) {
    const prefix = strictNetwork(text);
    if (prefix === undefined)
      throw new Error(`network address parse error: ${JSON.stringify(text)}`);
    this.ip = new Ip(text.split('/')[0] ?? '');
    this.prefix = prefix;
  }
}

/** No zones, and no IPv4 dressed up as IPv6. */
function strictAddress(text: string): Address | undefined {
  const address = parseAddress(text);
  return address !== undefined && mapped.contains(address) ? undefined : address;
}

function strictNetwork(text: string): Prefix | undefined {
  return strictAddress(text.split('/')[0] ?? '') === undefined ? undefined : parsePrefix(text);
}

const network = (text: string) => parsePrefix(text) as Prefix;
const mapped = network('::ffff:0:0/96');
const unspecified = [network('0.0.0.0/32'), network('::/128')];
const loopback = [network('127.0.0.0/8'), network('::1/128')];
const linkLocal = [network('169.254.0.0/16'), network('fe80::/10')];
const multicast = [network('224.0.0.0/4'), network('ff00::/8')];
const broadcast = network('255.255.255.255/32');
const isIn = ({ address }: Ip, ...networks: Prefix[]) =>
  networks.some((one) => one.contains(address));

/** 224.0.0.0/24, and ff02 with any flags. */
function isLinkLocalMulticast({ address }: Ip): boolean {
  if (address.family === 'ipv4') return network('224.0.0.0/24').contains(address);
  return ((address.w0 >>> 16) & 0xff0f) === 0xff02;
}

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
      (_: IpFunctions, text: string) => `${new Ip(text).address}` === text,
    )
    .registerFunction('string(net.IP): string', (ip: Ip) => `${ip.address}`)
    .registerFunction('net.IP.family(): int', ({ address }: Ip) =>
      address.family === 'ipv4' ? 4n : 6n,
    )
    .registerFunction('net.IP.isUnspecified(): bool', (ip: Ip) => isIn(ip, ...unspecified))
    .registerFunction('net.IP.isLoopback(): bool', (ip: Ip) => isIn(ip, ...loopback))
    .registerFunction('net.IP.isLinkLocalMulticast(): bool', isLinkLocalMulticast)
    .registerFunction('net.IP.isLinkLocalUnicast(): bool', (ip: Ip) => isIn(ip, ...linkLocal))
    .registerFunction(
      'net.IP.isGlobalUnicast(): bool',
      (ip: Ip) => !isIn(ip, ...unspecified, ...loopback, ...linkLocal, ...multicast, broadcast),
    )
    .registerFunction('isCIDR(string): bool', (text: string) => strictNetwork(text) !== undefined)
    .registerFunction('cidr(string): net.CIDR', (text: string) => new Cidr(text))
    .registerFunction(
      'string(net.CIDR): string',
      ({ ip, prefix }: Cidr) => `${ip.address}/${prefix.length}`,
    )
    .registerFunction('net.CIDR.ip(): net.IP', ({ ip }: Cidr) => ip)
    .registerFunction('net.CIDR.masked(): net.CIDR', ({ prefix }: Cidr) => new Cidr(`${prefix}`))
    .registerFunction('net.CIDR.prefixLength(): int', ({ prefix }: Cidr) => BigInt(prefix.length))
    .registerFunction('net.CIDR.containsIP(net.IP): bool', ({ prefix }: Cidr, ip: Ip) =>
      isIn(ip, prefix),
    )
    .registerFunction('net.CIDR.containsIP(string): bool', ({ prefix }: Cidr, text: string) =>
      isIn(new Ip(text), prefix),
    )
    .registerFunction('net.CIDR.containsCIDR(net.CIDR): bool', (outer: Cidr, inner: Cidr) =>
      outer.prefix.contains(inner.prefix),
    )
    .registerFunction('net.CIDR.containsCIDR(string): bool', (outer: Cidr, inner: string) =>
      outer.prefix.contains(new Cidr(inner).prefix),
    );
}
