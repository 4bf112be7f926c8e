/**
 * The one writer of a connection. Two lanes: what cannot wait (OPEN, KEEPALIVE,
 * NOTIFICATION) and what is pulled, one UPDATE at a time, from whoever knows what
 * to say next. Because UPDATEs are made only when the socket has room, a slow
 * peer costs no memory, a route that changes while it waits is sent once, and a
 * KEEPALIVE stands behind at most `highWaterBytes`, not behind a whole table.
 */
import type { Socket } from 'node:net';

/** Bytes in our own queue above which nothing more is pulled. */
const highWaterBytes = 64 * 1024;
/** Making and writing messages in one turn of the event loop: other peers want their turn. */
const turnMs = 0.5;

export interface WriterOptions {
  pull: () => Uint8Array | undefined;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
  sendHoldMs: number;
  /** Nothing has left for the send-hold time (RFC 9687). */
  onStall: () => void;
}

export class SessionWriter {
  readonly #socket: Socket;
  readonly #options: WriterOptions;
  readonly #urgent: Uint8Array[] = [];
  #isPulling = false;
  #isClosed = false;
  #turn: NodeJS.Immediate | undefined;
  #stall: NodeJS.Timeout | undefined;
  #isIdle = true;

  constructor(socket: Socket, options: WriterOptions) {
    this.#socket = socket;
    this.#options = options;
    // Not at once: a peer that takes everything would keep us here until the table is out.
    socket.on('drain', () => this.#schedule());
  }

  /** Ahead of everything that has not reached the socket yet. */
  sendNow(message: Uint8Array): void {
    this.#urgent.push(message);
    this.#pump();
  }

  /** From Established on: there may be something to pull. */
  kick(): void {
    this.#isPulling = true;
    this.#schedule();
  }

  /** Everything pulled and handed to the kernel. */
  get isDry(): boolean {
    return this.#isIdle && this.#urgent.length === 0 && this.#socket.writableLength === 0;
  }

  /** Writes a last message and ends our half. */
  end(last: Uint8Array | undefined): void {
    if (this.#isClosed) return;
    this.close();
    for (const message of this.#urgent) this.#socket.write(message);
    if (last === undefined) this.#socket.end();
    else this.#socket.end(last);
  }

  close(): void {
    this.#isClosed = true;
    clearImmediate(this.#turn);
    clearTimeout(this.#stall);
  }

  #schedule(): void {
    if (this.#isClosed || this.#turn !== undefined) return;
    this.#isIdle = false;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#isClosed || this.#socket.destroyed) return;
    this.#socket.cork();
    const turnEnds = this.#options.nowMs() + turnMs;
    while (this.#socket.writableLength < highWaterBytes) {
      const urgent = this.#urgent.shift();
      const message = urgent ?? (this.#isPulling ? this.#options.pull() : undefined);
      if (message === undefined) {
        this.#isIdle = true;
        break;
      }
      this.#isIdle = false;
      this.#socket.write(message, this.#onFlushed);
      if (urgent === undefined && this.#options.nowMs() >= turnEnds) {
        this.#schedule();
        break;
      }
    }
    this.#socket.uncork();
    if (this.#socket.writableLength > 0 && this.#stall === undefined) this.#watch();
  }

  readonly #onFlushed = (error?: Error | null): void => {
    // The socket reports its own error; here only progress counts.
    if (error) return;
    if (this.#socket.writableLength === 0) {
      clearTimeout(this.#stall);
      this.#stall = undefined;
      if (!this.#isIdle) this.#schedule();
    } else this.#stall?.refresh();
  };

  #watch(): void {
    if (this.#options.sendHoldMs === 0) return;
    this.#stall = setTimeout(() => {
      this.#stall = undefined;
      if (!this.#isClosed) this.#options.onStall();
    }, this.#options.sendHoldMs);
  }
}
