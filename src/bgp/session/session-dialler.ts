/**
 * One attempt to connect at a time. A cancelled attempt reports nothing any more,
 * even if its SYN is answered after all.
 */
import type { Socket } from 'node:net';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import { dial } from '../transport/dial.ts';

export class SessionDialler {
  readonly #onConnected: (socket: Socket) => void;
  readonly #onFailed: (detail: string) => void;
  #socket: Socket | undefined;

  constructor(onConnected: (socket: Socket) => void, onFailed: (detail: string) => void) {
    this.#onConnected = onConnected;
    this.#onFailed = onFailed;
  }

  connect({ address, port, localAddress, localPort, socket: options }: CompletePeer): void {
    let socket: Socket;
    try {
      socket = dial({ address, port, localAddress, localPort, options });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      // Later, because whoever asks for this is still in the middle of something.
      setImmediate(() => this.#onFailed(detail));
      return;
    }
    this.#socket = socket;
    socket.once('error', (error) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#onFailed(error.message);
    });
    socket.once('connect', () => {
      if (this.#socket !== socket) return void socket.destroy();
      this.#socket = undefined;
      this.#onConnected(socket);
    });
  }

  cancel(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }
}
