/** Just enough arithmetic on addresses for what an API server itself decides. */
import { isIP, isIPv4 } from 'node:net';

export interface Network {
  family: 4 | 6;
  /** The address as it was given. */
  address: bigint;
  length: number;
}

export const widthOf = (family: 4 | 6) => (family === 4 ? 32 : 128);

/** Undefined when it is no address. */
export function parseIp(text: string): { family: 4 | 6; value: bigint } | undefined {
  const family = isIP(text);
  if (family === 4) {
    return { family, value: text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n) };
  }
  if (family !== 6 || text.includes('%')) return undefined;
  const [head = '', tail] = embedded(text).split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const all = [...left, ...Array<string>(zeros).fill('0'), ...right];
  return { family, value: all.reduce((sum, part) => (sum << 16n) | BigInt(`0x${part}`), 0n) };
}

/** `::ffff:10.0.0.1` with its last part in hexadecimal too. */
function embedded(text: string): string {
  const at = text.lastIndexOf(':');
  const last = text.slice(at + 1);
  if (!isIPv4(last)) return text;
  const [a = 0, b = 0, c = 0, d = 0] = last.split('.').map(Number);
  return `${text.slice(0, at + 1)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

export function parseNetwork(text: string): Network | undefined {
  const [address = '', length = '', ...more] = text.split('/');
  const parsed = parseIp(address);
  if (parsed === undefined || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length))
    return undefined;
  if (Number(length) > widthOf(parsed.family)) return undefined;
  return { family: parsed.family, address: parsed.value, length: Number(length) };
}

/** The first address of the network. */
export function firstOf({ family, address, length }: Network): bigint {
  const host = BigInt(widthOf(family) - length);
  return (address >> host) << host;
}

export function hasHostBits(cidr: string): boolean {
  const network = parseNetwork(cidr);
  return network !== undefined && firstOf(network) !== network.address;
}

/** RFC 5952. */
export function formatAddress(family: 4 | 6, value: bigint): string {
  if (family === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  }
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  );
  // IPv4-mapped addresses are written with their dots.
  if (value >> 32n === 0xffffn) return `::ffff:${formatAddress(4, value & 0xffffffffn)}`;
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (end < 8 && groups[end] === '0') end += 1;
    if (end - at > best.length) best = { at, length: end - at };
  }
  if (best.at < 0) return groups.join(':');
  const left = groups.slice(0, best.at).join(':');
  return `${left}::${groups.slice(best.at + best.length).join(':')}`;
}

export function formatNetwork({ family, address, length }: Network): string {
  return `${formatAddress(family, address)}/${length}`;
}

/** Whether `outer` holds all of `inner`. */
export function contains(outer: Network, inner: Network): boolean {
  if (outer.family !== inner.family || outer.length > inner.length) return false;
  const host = BigInt(widthOf(outer.family) - outer.length);
  return outer.address >> host === inner.address >> host;
}
