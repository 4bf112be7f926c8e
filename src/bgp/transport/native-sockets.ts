/**
 * What Node's sockets cannot do, through koffi and the C library: a TCP-MD5
 * key (RFC 2385), a TTL, and the least TTL accepted (GTSM, RFC 5082). koffi is
 * an optional dependency. Without it, or off Linux, `nativeSockets()` returns
 * the reason, and only a peer that asks for one of these is refused.
 *
 * The options go on a descriptor that is not connected yet, because MD5 signs
 * the SYN itself: the socket is made here and then handed to `net.Socket`.
 */
import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import { addressOctets } from '../wire/address-text.ts';

export interface SocketOptions {
  /** TCP-MD5 password of the session, at most 80 octets. */
  password?: string | undefined;
  /** TTL (hop limit) of what we send. */
  ttl?: number | undefined;
  /** Packets that arrive with a lower TTL are dropped by the kernel. */
  minTtl?: number | undefined;
}

interface NativeSockets {
  /** A TCP socket that is neither bound nor connected. */
  create(family: 4 | 6): number;
  close(fd: number): void;
  /** Key for segments to and from one address; an empty password removes it. */
  setMd5(fd: number, socketFamily: 4 | 6, peerAddress: string, password: string): void;
  setTtl(fd: number, socketFamily: 4 | 6, ttl: number): void;
  setMinTtl(fd: number, socketFamily: 4 | 6, ttl: number): void;
  /** Bytes sent that the other side has not acknowledged yet. */
  unacknowledgedBytes(fd: number): number;
}

export type NativeSocketsResult =
  | { kind: 'available'; sockets: NativeSockets }
  | { kind: 'missing'; reason: string };

const maxMd5PasswordBytes = 80;

// Linux numbers, the same on every architecture Node supports.
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const IPPROTO_IP = 0;
const IPPROTO_TCP = 6;
const IPPROTO_IPV6 = 41;
const IP_TTL = 2;
const IP_MINTTL = 21;
const IPV6_UNICAST_HOPS = 16;
const IPV6_MINHOPCOUNT = 73;
const TCP_MD5SIG = 14;
const SIOCOUTQ = 0x5411n;

let cached: NativeSocketsResult | undefined;

export function nativeSockets(): NativeSocketsResult {
  cached ??= load();
  return cached;
}

function load(): NativeSocketsResult {
  if (process.platform !== 'linux') {
    return { kind: 'missing', reason: `TCP-MD5 and TTL need Linux, this is ${process.platform}` };
  }
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    return { kind: 'available', sockets: bind(koffi) };
  } catch (error) {
    const detail = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return {
      kind: 'missing',
      reason: `TCP-MD5 and TTL need the optional package koffi, which does not load: ${detail}`,
    };
  }
}

function bind(koffi: typeof import('koffi')): NativeSockets {
  const libc = koffi.load(null);
  const socket = libc.func('int socket(int, int, int)');
  const closeFd = libc.func('int close(int)');
  const setsockopt = libc.func('int setsockopt(int, int, int, const void *, uint32_t)');
  const ioctl = libc.func('int ioctl(int, uint64_t, _Out_ int *)');

  const fail = (what: string): never => {
    throw new Error(`${what} failed with errno ${koffi.errno()}`);
  };
  const setInt = (fd: number, level: number, option: number, value: number, what: string) => {
    const bytes = new Uint8Array(new Int32Array([value]).buffer);
    if (setsockopt(fd, level, option, bytes, bytes.length) !== 0) fail(what);
  };

  return {
    create(family) {
      const fd = socket(
        family === 6 ? AF_INET6 : AF_INET,
        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
        0,
      ) as number;
      return fd < 0 ? fail('socket()') : fd;
    },
    close(fd) {
      closeFd(fd);
    },
    setMd5(fd, socketFamily, peerAddress, password) {
      const option = md5Option(socketFamily, peerAddress, password);
      if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, option, option.length) === 0) return;
      // Removing a key that is not there is what we wanted anyway.
      if (password !== '') fail(`TCP_MD5SIG for ${peerAddress}`);
    },
    setTtl(fd, socketFamily, ttl) {
      if (socketFamily === 6) setInt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl, 'IPV6_UNICAST_HOPS');
      // On a dual-stack socket the IPv4 value rules connections from mapped addresses.
      setInt(fd, IPPROTO_IP, IP_TTL, ttl, 'IP_TTL');
    },
    setMinTtl(fd, socketFamily, ttl) {
      if (socketFamily === 6) setInt(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, ttl, 'IPV6_MINHOPCOUNT');
      setInt(fd, IPPROTO_IP, IP_MINTTL, ttl, 'IP_MINTTL');
    },
    unacknowledgedBytes(fd) {
      const out = [0];
      if (ioctl(fd, SIOCOUTQ, out) !== 0) fail('ioctl(SIOCOUTQ)');
      return out[0] ?? 0;
    },
  };
}

/** `struct tcp_md5sig`: sockaddr_storage, flags, prefix length, key length, ifindex, key. */
export function md5Option(socketFamily: 4 | 6, peerAddress: string, password: string): Uint8Array {
  const key = Buffer.from(password, 'utf8');
  if (key.length > maxMd5PasswordBytes) {
    throw new RangeError(`a TCP-MD5 password holds at most ${maxMd5PasswordBytes} octets`);
  }
  const option = Buffer.alloc(216);
  const little = endianness() === 'LE';
  const put16 = (value: number, at: number) =>
    little ? option.writeUInt16LE(value, at) : option.writeUInt16BE(value, at);
  const address = addressOctets(peerAddress.split('%')[0] ?? '');
  if (address === undefined) throw new RangeError(`${peerAddress} is not an IP address`);
  if (socketFamily === 4) {
    put16(AF_INET, 0);
    option.set(address, 4);
  } else {
    put16(AF_INET6, 0);
    if (isIPv6(peerAddress)) {
      option.set(address, 8);
    } else {
      option.set([0xff, 0xff], 18);
      option.set(address, 20);
    }
  }
  put16(key.length, 130);
  option.set(key, 136);
  return option;
}
