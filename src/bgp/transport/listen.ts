/**
 * One listening socket for all peers. TCP-MD5 keys belong to the listening
 * descriptor (the kernel checks the SYN before we see anything), a TTL to the
 * accepted one, so both can change while the socket stays open: adding a peer
 * never makes the listener refuse another.
 */
import { createServer, isIPv6, type Server, type Socket } from 'node:net';
import { CadastreError } from '../../base/errors.ts';
import { canonicalPeerAddress } from './canonical-peer-address.ts';
import { nativeSockets, type SocketOptions } from './native-sockets.ts';

export interface ListenTarget {
  /** `::` takes both families; default. */
  address?: string | undefined;
  /** 0 lets the kernel choose; default 179. */
  port?: number | undefined;
}

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** Declares the options of every peer that may connect; what is not named is removed. */
  setPeers(peers: ReadonlyMap<string, SocketOptions>): void;
  close(): Promise<void>;
}

/** The descriptor under a Node socket. Undocumented and stable since Node 0.x; absent after close. */
export function descriptorOf(socket: Socket | Server): number | undefined {
  const fd = (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd;
  return fd !== undefined && fd >= 0 ? fd : undefined;
}

export async function listen(
  target: ListenTarget,
  accept: (socket: Socket, remoteAddress: string) => void,
  onError: (detail: string) => void,
): Promise<Listener> {
  // allowHalfOpen: after our NOTIFICATION we end our half and still read theirs.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    // Whoever takes the socket listens for itself; one that is turned away must not throw.
    socket.on('error', () => undefined);
    // Gone before we looked: there is nobody to talk to.
    const remote = canonicalPeerAddress(socket.remoteAddress ?? '');
    if (remote === undefined) socket.destroy();
    else accept(socket, remote);
  });
  const port = target.port ?? 179;
  try {
    await open(server, target.address ?? '::', port);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const hasNoIpv6 = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL';
    if (target.address !== undefined || !hasNoIpv6) throw refusal(error, target, port);
    await open(server, '0.0.0.0', port);
  }
  // Such as no descriptor left for a connection: the listener stays, the next one may succeed.
  server.on('error', (error) => onError(error.message));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('not a TCP socket');
  const family = isIPv6(bound.address) ? 6 : 4;
  const keys = new Map<string, string>();

  return {
    address: bound.address,
    port: bound.port,
    setPeers(peers) {
      const native = nativeSockets();
      const fd = descriptorOf(server);
      if (native.kind === 'missing' || fd === undefined) return;
      for (const [address] of keys) {
        if (peers.get(address)?.password) continue;
        native.sockets.setMd5(fd, family, address, '');
        keys.delete(address);
      }
      for (const [address, { password }] of peers) {
        if (!password || keys.get(address) === password) continue;
        if (family === 4 && isIPv6(address)) continue;
        try {
          native.sockets.setMd5(fd, family, address, password);
          keys.set(address, password);
        } catch (error) {
          // This peer alone: without its key the kernel drops whatever it signs.
          onError(error instanceof Error ? error.message : String(error));
        }
      }
      // A GTSM peer drops a SYN-ACK below 255, and that is sent before accept().
      const wantsGtsm = [...peers.values()].some((options) => options.minTtl !== undefined);
      if (wantsGtsm) native.sockets.setTtl(fd, family, 255);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

function open(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

/** TTL options of an accepted connection, once its peer is known. */
export function applyAccepted(socket: Socket, options: SocketOptions): void {
  const native = nativeSockets();
  const fd = descriptorOf(socket);
  if (native.kind === 'missing' || fd === undefined) return;
  const family = socket.remoteFamily === 'IPv6' ? 6 : 4;
  if (options.ttl !== undefined) native.sockets.setTtl(fd, family, options.ttl);
  if (options.minTtl !== undefined) native.sockets.setMinTtl(fd, family, options.minTtl);
}

function refusal(cause: unknown, { address = '::' }: ListenTarget, port: number): CadastreError {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const where = isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
  const remedy = remedies[code];
  return new CadastreError('BAD_FLAG', `cannot listen for BGP on ${where}: ${code}`, {
    cause,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

const remedies: Record<string, string> = {
  EACCES: 'A port below 1024 needs the capability NET_BIND_SERVICE.',
  EADDRINUSE: 'Stop what listens there, or give another port.',
  EADDRNOTAVAIL: 'Give an address of this machine.',
};
