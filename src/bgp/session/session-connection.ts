/**
 * One TCP connection of a session: socket, framer and writer, and the bytes
 * turned into events. It knows which meaning bytes have (`SessionContext`), but
 * nothing of states; whatever it cannot read it reports.
 */
import type { Socket } from 'node:net';
import { canonicalPeerAddress } from '../transport/canonical-peer-address.ts';
import { descriptorOf } from '../transport/listen.ts';
import { nativeSockets } from '../transport/native-sockets.ts';
import {
  type BgpMessage,
  decodeMessage,
  Framer,
  preOpenContext,
  type SessionContext,
  WireError,
} from '../wire/message.ts';
import { SessionWriter, type WriterOptions } from './session-writer.ts';

interface ConnectionEvents extends WriterOptions {
  onMessage(message: BgpMessage): void;
  onError(error: WireError): void;
  onClosed(detail: string): void;
}

/** After a NOTIFICATION we read on this long, so that a reset does not overtake it. */
const lingerMs = 3000;

export class SessionConnection {
  readonly writer: SessionWriter;
  readonly localAddress: string;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #framer = new Framer();
  #context: SessionContext = preOpenContext;
  #isOpen = true;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    this.localAddress = canonicalPeerAddress(socket.localAddress ?? '') ?? '';
    this.writer = new SessionWriter(socket, events);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.#closed('the peer closed the connection'));
    socket.on('error', (error) => this.#closed(error.message));
    socket.on('close', () => this.#closed('the connection closed'));
  }

  agree(context: SessionContext): void {
    this.#context = context;
  }

  /**
   * Says a last word, ends our half, and lets go when the peer ends its own or
   * time is up. Resolves when the socket is gone.
   */
  async end(last: Uint8Array | undefined): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const socket = this.#socket;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('end', () => socket.destroy());
      socket.once('close', () => {
        clearTimeout(late);
        resolve();
      });
      this.writer.end(last);
      socket.resume();
    });
  }

  /** True when all that was written has been acknowledged; without koffi, when the kernel has it. */
  isDelivered(): boolean {
    if (!this.writer.isDry) return false;
    const native = nativeSockets();
    const fd = descriptorOf(this.#socket);
    if (native.kind === 'missing' || fd === undefined) return true;
    return native.sockets.unacknowledgedBytes(fd) === 0;
  }

  #read(chunk: Buffer) {
    if (!this.#isOpen) return;
    this.#framer.push(chunk);
    while (this.#isOpen) {
      const frame = this.#framer.next(this.#context);
      if (frame === undefined) return;
      if (frame instanceof WireError) return this.#events.onError(frame);
      const result = decodeMessage(frame, this.#context);
      if (result.kind === 'error') return this.#events.onError(result.error);
      this.#events.onMessage(result.message);
    }
  }

  #closed(detail: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.writer.close();
    this.#socket.destroy();
    this.#events.onClosed(detail);
  }
}
