/** Whole requests with anything in them, over kept connections. */
import { Agent, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import type { Place } from './raw-http.ts';

export interface Asked {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer | undefined;
}

export interface Heard {
  status: number;
  text: string;
}

export class Asker {
  readonly #place: Place;
  readonly #agent: Agent;

  constructor(place: Place, connections = 8) {
    const options = { keepAlive: true, maxSockets: connections };
    this.#place = place;
    this.#agent = place.kind === 'tls' ? new TlsAgent(options) : new Agent(options);
  }

  /** Status 0: the connection ended without an answer. */
  ask({ method, path, headers = {}, body }: Asked): Promise<Heard> {
    const place = this.#place;
    const send = place.kind === 'tls' ? requestTls : request;
    const where =
      place.kind === 'unix' ? { socketPath: place.path } : { host: place.host, port: place.port };
    const ca = place.kind === 'tls' ? { ca: place.ca } : {};
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    return new Promise((resolve) => {
      let status = 0;
      const pieces: Buffer[] = [];
      const done = () => resolve({ status, text: Buffer.concat(pieces).toString() });
      try {
        const outgoing = send(
          { ...where, ...ca, agent: this.#agent, method, path, headers: { ...length, ...headers } },
          (incoming) => {
            status = incoming.statusCode ?? 0;
            incoming.on('data', (piece: Buffer) => pieces.push(piece));
            incoming.on('error', done);
            incoming.on('end', done);
            incoming.on('close', done);
            // A watch or an event stream has no end, or one that the request chose.
            const isEventStream = /event-stream/.test(String(incoming.headers['content-type']));
            if (isEventStream || (status < 300 && /[?&]watch=/.test(path))) incoming.destroy();
          },
        );
        outgoing.on('error', done);
        outgoing.end(body);
      } catch {
        // A path that Node's own client refuses to send; raw-http sends such.
        resolve({ status: -1, text: '' });
      }
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
