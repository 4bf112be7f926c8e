/** Opens the TCP connection of one peer, with the socket options its settings ask for. */
import { isIPv6, Socket } from 'node:net';
import { type NativeSocketsResult, nativeSockets, type SocketOptions } from './native-sockets.ts';

interface DialTarget {
  address: string;
  port: number;
  localAddress?: string | undefined;
  localPort?: number | undefined;
  options: SocketOptions;
}

/** True when the target cannot be dialled with Node's own sockets. */
export function needsNativeSockets(options: SocketOptions): boolean {
  return (
    (options.password !== undefined && options.password !== '') ||
    options.ttl !== undefined ||
    options.minTtl !== undefined
  );
}

/** Why this peer cannot be served on this machine, or undefined. */
export function refuseTransport(
  options: SocketOptions,
  native: NativeSocketsResult = nativeSockets(),
): string | undefined {
  return needsNativeSockets(options) && native.kind === 'missing' ? native.reason : undefined;
}

/**
 * A socket on its way to the peer; `connect`, `error` and `close` follow as
 * with `net.connect`. Throws when an option is refused by the kernel.
 */
export function dial(target: DialTarget, native: NativeSocketsResult = nativeSockets()): Socket {
  const socket = needsNativeSockets(target.options)
    ? prepared(target, native)
    : new Socket({ allowHalfOpen: true });
  socket.connect({
    host: target.address,
    port: target.port,
    ...(target.localAddress === undefined ? {} : { localAddress: target.localAddress }),
    ...(target.localPort === undefined ? {} : { localPort: target.localPort }),
  });
  return socket;
}

function prepared(target: DialTarget, native: NativeSocketsResult): Socket {
  if (native.kind === 'missing') throw new Error(native.reason);
  const { sockets } = native;
  const family = isIPv6(target.address.split('%')[0] ?? '') ? 6 : 4;
  const fd = sockets.create(family);
  try {
    const { password, ttl, minTtl } = target.options;
    if (password) sockets.setMd5(fd, family, target.address, password);
    if (ttl !== undefined) sockets.setTtl(fd, family, ttl);
    if (minTtl !== undefined) sockets.setMinTtl(fd, family, minTtl);
    // manualStart: Node would otherwise read from a socket that is not connected yet.
    const options = { fd, manualStart: true, allowHalfOpen: true };
    return new Socket(options as ConstructorParameters<typeof Socket>[0]);
  } catch (error) {
    sockets.close(fd);
    throw error;
  }
}
