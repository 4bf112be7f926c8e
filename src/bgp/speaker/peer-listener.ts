/**
 * The listener for incoming connections. A connection is matched to its peer by
 * address before an octet is read; one from any other address is closed.
 */
import type { Socket } from 'node:net';
import type { Log } from '../../base/log.ts';
import { type Listener, type ListenTarget, listen } from '../transport/listen.ts';
import type { SocketOptions } from '../transport/native-sockets.ts';

export class PeerListener {
  readonly #accept: (socket: Socket, remoteAddress: string) => boolean;
  readonly #log: Log;
  #listener: Listener | undefined;
  #peers: ReadonlyMap<string, SocketOptions> = new Map();

  /** `accept` returns false if no peer has that address. */
  constructor(accept: (socket: Socket, remoteAddress: string) => boolean, log: Log) {
    this.#accept = accept;
    this.#log = log;
  }

  get port(): number | undefined {
    return this.#listener?.port;
  }

  async open(target: ListenTarget): Promise<void> {
    const onConnection = (socket: Socket, remote: string) => {
      if (this.#accept(socket, remote)) return;
      this.#log.debug?.({ address: remote }, 'connection closed: no peer has this address');
      socket.destroy();
    };
    const onError = (detail: string) => this.#log.error({ detail }, 'listening socket error');
    this.#listener = await listen(target, onConnection, onError);
    this.#listener.setPeers(this.#peers);
  }

  /** Socket options of every peer, by address. */
  setPeers(peers: ReadonlyMap<string, SocketOptions>): void {
    this.#peers = peers;
    this.#listener?.setPeers(peers);
  }

  async close(): Promise<void> {
    await this.#listener?.close();
    this.#listener = undefined;
  }
}
