/**
 * Changes as they come (server-sent events). A reader names the last one it
 * heard; if that is forgotten it is told to begin anew. A reader that does not
 * keep up is not waited for: it gets the sum of what it missed when it reads on.
 */
import type { ServerResponse } from 'node:http';
import type { ConsoleState } from './state.ts';

const heartbeatMs = 15_000;

export class EventStream {
  readonly #state: ConsoleState;
  readonly #readers = new Set<ServerResponse>();

  constructor(state: ConsoleState) {
    this.#state = state;
  }

  get readers(): number {
    return this.#readers.size;
  }

  open(outgoing: ServerResponse, from: string): void {
    let at = from;
    let isFull = false;
    const send = () => {
      if (isFull || at === this.#state.at) return;
      const message = this.#state.since(at);
      if (message === undefined) {
        // Ended by us: the page fetches the whole state and comes back.
        outgoing.end('event: anew\ndata: {}\n\n');
        return;
      }
      at = message.at;
      isFull = !outgoing.write(`id: ${at}\ndata: ${JSON.stringify(message)}\n\n`);
    };
    outgoing.on('drain', () => {
      isFull = false;
      send();
    });
    const forget = this.#state.onChange(send);
    const heartbeat = setInterval(() => {
      if (!isFull) outgoing.write(': still here\n\n');
    }, heartbeatMs);
    heartbeat.unref();
    this.#readers.add(outgoing);
    outgoing.on('close', () => {
      forget();
      clearInterval(heartbeat);
      this.#readers.delete(outgoing);
    });
    outgoing.on('error', () => undefined);
    outgoing.write('retry: 1000\n\n');
    send();
  }

  close(): void {
    for (const reader of this.#readers) reader.end();
  }
}
