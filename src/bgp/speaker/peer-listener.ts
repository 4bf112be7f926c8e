/**
 * The door incoming connections knock at. A connection is matched to its peer
 * by address before a byte is read; who is not expected is shown out.
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

  /** `accept` says whether somebody took the socket. */
  constructor(accept: (socket: Socket, remoteAddress: string) => boolean, log: Log) {
    this.#accept = accept;
    this.#log = log;
  }

  get port(): number | undefined {
    return this.#listener?.port;
  }

  async open(target: ListenTarget): Promise<void> {
    const onKnock = (socket: Socket, remote: string) => {
      if (this.#accept(socket, remote)) return;
      this.#log.debug({ remote }, 'connection from an address that is no peer');
      socket.destroy();
    };
    const onError = (detail: string) =>
      this.#log.error({ detail }, 'trouble at the listening socket');
    this.#listener = await listen(target, onKnock, onError);
    this.#listener.setPeers(this.#peers);
  }

  /** Socket options by address of everybody who may come. */
  setPeers(peers: ReadonlyMap<string, SocketOptions>): void {
    this.#peers = peers;
    this.#listener?.setPeers(peers);
  }

  async close(): Promise<void> {
    await this.#listener?.close();
    this.#listener = undefined;
  }
}
