import { createServer, type Server, type Socket } from 'node:net';
import { type Log, silentLog } from '../../base/log.ts';
import { BmpFramer } from './bmp-framer.ts';
import { MonitoredRouter } from './monitored-router.ts';

interface BmpStationOptions {
  readonly log?: Log;
  /** Connections beyond are turned away: each may hold tables of any size. */
  readonly maxRouters?: number;
  readonly onConnect?: (router: MonitoredRouter) => void;
  /** After every message. */
  readonly onMessage?: (router: MonitoredRouter) => void;
  readonly onClose?: (router: MonitoredRouter) => void;
}

/**
 * BMP has no keepalive of its own (RFC 7854 §3.2: nothing is sent to the router). The kernel
 * asks after so long a silence, and then every second, ten times: a router that is gone
 * without a word is noticed after 20 s.
 */
const keepAliveMs = 10_000;

/** Listens for routers that report over BMP, and holds what those connected now have reported. */
export class BmpStation {
  readonly #log: Log;
  readonly #maxRouters: number;
  readonly #o: BmpStationOptions;
  readonly #server: Server;
  readonly #routers = new Map<Socket, MonitoredRouter>();

  constructor(options: BmpStationOptions = {}) {
    const { log = silentLog, maxRouters = 256 } = options;
    this.#o = options;
    this.#log = log;
    this.#maxRouters = maxRouters;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Port 0 lets the kernel choose; see `port`. */
  listen(target: { readonly host?: string; readonly port: number }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(target, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  get port(): number | undefined {
    const address = this.#server.address();
    return address === null || typeof address === 'string' ? undefined : address.port;
  }

  /** The routers connected now. */
  get routers(): MonitoredRouter[] {
    return [...this.#routers.values()];
  }

  /** By the name it gave itself, or the address it came from. */
  router(name: string): MonitoredRouter | undefined {
    return this.routers.find((one) => one.sysName === name || one.remoteAddress === name);
  }

  async close(): Promise<void> {
    for (const socket of this.#routers.keys()) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    // A socket that serves both families names IPv4 as ::ffff:192.0.2.1 (RFC 4291 §2.5.5.2).
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    socket.setKeepAlive(true, keepAliveMs);
    if (this.#routers.size >= this.#maxRouters) {
      this.#log.warn(
        { router: address, count: this.#maxRouters },
        'BMP connection refused: too many routers',
      );
      socket.destroy();
      return;
    }
    const router = new MonitoredRouter(address, socket.remotePort ?? 0);
    const framer = new BmpFramer();
    this.#routers.set(socket, router);
    this.#o.onConnect?.(router);
    this.#log.info({ router: address }, 'BMP session up');
    socket.on('data', (chunk) => this.#read(socket, router, framer, chunk));
    socket.on('error', (error) => {
      this.#log.warn({ router: address, error: error.message }, 'BMP connection error');
    });
    socket.on('close', () => {
      // What it reported may not be true any more, and nothing would correct it.
      this.#routers.delete(socket);
      this.#o.onClose?.(router);
      this.#log.info({ router: address, count: router.messages }, 'BMP session closed');
    });
  }

  #read(socket: Socket, router: MonitoredRouter, framer: BmpFramer, chunk: Uint8Array): void {
    framer.push(chunk);
    for (;;) {
      const message = framer.next();
      if (message === undefined) return;
      if (typeof message === 'string') {
        this.#log.warn(
          { router: router.remoteAddress, error: message },
          'BMP connection closed: malformed message',
        );
        socket.destroy();
        return;
      }
      router.take(message);
      this.#o.onMessage?.(router);
      // RFC 7854 §4.5: after Termination the router closes; so may we.
      if (router.isTerminated) {
        socket.destroy();
        return;
      }
    }
  }
}
