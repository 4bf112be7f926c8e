/**
 * What Node cannot do by itself, through koffi and the C library: netlink
 * sockets, and entering a network namespace for the length of one call.
 * koffi is an optional dependency; without it, or off Linux, `nativeNetlink()`
 * throws KERNEL_UNAVAILABLE with the reason.
 *
 * `send` has two forms because the kernel works on a request inside the call
 * itself: a few microseconds for most, some 20 ms for deleting a veth, and
 * anything at all while somebody else holds the kernel's one network lock. So
 * requests go through a worker thread (20 µs more) and never stop the event loop.
 */
import { createRequire } from 'node:module';
import { CadastreError } from '../../base/errors.ts';

export interface NativeNetlink {
  /** A netlink socket in the namespace of the calling thread, ready for requests. */
  open(protocol: number): number;
  close(fd: number): void;
  setOption(fd: number, level: number, option: number, value: number): boolean;
  joinGroups(fd: number, groups: number): void;
  /** Resolves once the kernel has worked on it: 0, or the errno. */
  send(fd: number, bytes: Uint8Array): Promise<number>;
  /** Bytes read, or the errno below zero. */
  receive(fd: number, into: Uint8Array): number;
  receiveAsync(fd: number, into: Uint8Array): Promise<number>;
  /** Moves the calling thread into the namespace behind `fd`; 0 or the errno. */
  enterNamespace(fd: number): number;
}

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const CLONE_NEWNET = 0x40000000;

let cached: NativeNetlink | undefined;

export function nativeNetlink(): NativeNetlink {
  cached ??= load();
  return cached;
}

function load(): NativeNetlink {
  if (process.platform !== 'linux') {
    throw new CadastreError(
      'KERNEL_UNAVAILABLE',
      `links and routes need Linux, this is ${process.platform}`,
      { remedy: 'Run the agent on a Linux node; the demo runs anywhere on its fake kernel.' },
    );
  }
  try {
    return bind(createRequire(import.meta.url)('koffi') as typeof import('koffi'));
  } catch (cause) {
    throw new CadastreError(
      'KERNEL_UNAVAILABLE',
      'links and routes need the optional package koffi, which does not load',
      { cause, remedy: 'Install with optional dependencies: npm install --include=optional.' },
    );
  }
}

function bind(koffi: typeof import('koffi')): NativeNetlink {
  const libc = koffi.load(null);
  const socket = libc.func('int socket(int, int, int)');
  const closeFd = libc.func('int close(int)');
  const setsockopt = libc.func('int setsockopt(int, int, int, const void *, uint32_t)');
  const bindSocket = libc.func('int bind(int, const void *, uint32_t)');
  const sendBytes = libc.func('long send(int, const void *, size_t, int)');
  const recvBytes = libc.func('long recv(int, void *, size_t, int)');
  const setns = libc.func('int setns(int, int)');

  const failed = (what: string) =>
    new CadastreError('KERNEL_REFUSED', `${what} failed with errno ${koffi.errno()}`);

  return {
    open(protocol) {
      const fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol) as number;
      if (fd < 0) throw failed('socket(AF_NETLINK)');
      return fd;
    },
    close(fd) {
      closeFd(fd);
    },
    setOption(fd, level, option, value) {
      const bytes = new Uint8Array(new Int32Array([value]).buffer);
      return setsockopt(fd, level, option, bytes, bytes.length) === 0;
    },
    joinGroups(fd, groups) {
      // struct sockaddr_nl: family, padding, port (0: the kernel chooses), groups.
      const name = new Uint8Array(12);
      new Uint16Array(name.buffer)[0] = AF_NETLINK;
      new Uint32Array(name.buffer)[2] = groups;
      if (bindSocket(fd, name, name.length) !== 0) throw failed('bind(AF_NETLINK)');
    },
    send(fd, bytes) {
      return new Promise((resolve, reject) => {
        sendBytes.async(fd, bytes, bytes.length, 0, (error: Error | null, sent: number) => {
          if (error) reject(error);
          else resolve(sent < 0 ? koffi.errno() : 0);
        });
      });
    },
    receive(fd, into) {
      const got = Number(recvBytes(fd, into, into.length, MSG_DONTWAIT));
      return got < 0 ? -koffi.errno() : got;
    },
    receiveAsync(fd, into) {
      return new Promise((resolve, reject) => {
        recvBytes.async(fd, into, into.length, 0, (error: Error | null, got: number) => {
          if (error) reject(error);
          else resolve(got < 0 ? -koffi.errno() : Number(got));
        });
      });
    },
    enterNamespace(fd) {
      return setns(fd, CLONE_NEWNET) === 0 ? 0 : koffi.errno();
    },
  };
}
