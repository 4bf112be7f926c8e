/** HTTP as no client would speak it, over a socket of any kind. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Random } from '../soak/bgp-codec/mutator.ts';
import { damagedBytes } from './damage.ts';

export type Place =
  | { kind: 'tcp'; host: string; port: number }
  | { kind: 'tls'; host: string; port: number; ca: string }
  | { kind: 'unix'; path: string };

export function openSocket(place: Place): Socket {
  if (place.kind === 'unix') return connectTcp({ path: place.path, allowHalfOpen: true });
  const { host, port } = place;
  if (place.kind === 'tcp') return connectTcp({ host, port, allowHalfOpen: true });
  return connectTls({ host, port, ca: place.ca, ALPNProtocols: ['http/1.1'] });
}

const crlf = '\r\n';

/** One request as bytes; most are malformed. */
export function rawRequest(random: Random, paths: readonly string[], headers: string): Buffer {
  const path = random.pick(paths);
  const head = (line: string, more = '') => `${line}${crlf}${headers}${more}${crlf}`;
  const post = `POST ${path} HTTP/1.1`;
  const json = `content-type: application/json${crlf}`;
  switch (random.below(20)) {
    case 0:
      return Buffer.from(head(`GET ${path} HTTP/9.9`));
    case 1:
      return Buffer.from(head(`G\0T ${path} HTTP/1.1`));
    case 2:
      return Buffer.from(head(`GET ${path}${'a'.repeat(1 + random.below(40_000))} HTTP/1.1`));
    case 3:
      return Buffer.from(head(`GET ${path} HTTP/1.1`, `x: ${'a'.repeat(20_000)}${crlf}`));
    case 4:
      return Buffer.from(head(`GET ${path} HTTP/1.1`, `a: b${crlf}`.repeat(3_000)));
    case 5:
      return Buffer.from(
        head(post, `${json}content-length: 5${crlf}transfer-encoding: chunked${crlf}`),
      );
    case 6:
      return Buffer.from(
        `${head(post, `${json}transfer-encoding: chunked${crlf}`)}zz${crlf}{}${crlf}0${crlf}${crlf}`,
      );
    case 7:
      return Buffer.from(`${head(post, `${json}content-length: 100${crlf}`)}{"half":`);
    case 8:
      return Buffer.from(`${head(post, `${json}content-length: 2${crlf}`)}{}GET / HTTP/1.1${crlf}`);
    case 9:
      return Buffer.from(head(`GET /%00/..%2f..%2fetc/passwd HTTP/1.1`));
    case 10:
      return Buffer.from(head(`GET http://[::1 HTTP/1.1`));
    case 11:
      return Buffer.from(head(`OPTIONS * HTTP/1.1`));
    case 12:
      return Buffer.from(head(`CONNECT 127.0.0.1:22 HTTP/1.1`));
    case 13:
      return Buffer.from(
        head(`GET ${path} HTTP/1.1`, `connection: upgrade${crlf}upgrade: websocket${crlf}`),
      );
    case 14:
      return Buffer.from(`PRI * HTTP/2.0${crlf}${crlf}SM${crlf}${crlf}`);
    case 15:
      return Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
    case 16: {
      // More than any limit of a body, in one piece.
      const body = `{"a":"${'x'.repeat(3 * 2 ** 20)}"}`;
      return Buffer.from(`${head(post, `${json}content-length: ${body.length}${crlf}`)}${body}`);
    }
    case 17:
      return Buffer.from(
        head(`${random.pick(['PUT', 'DELETE', 'PATCH', 'TRACE', 'BREW'])} ${path} HTTP/1.1`),
      );
    default:
      return damagedBytes(
        Buffer.from(`${head(post, `${json}content-length: 12${crlf}`)}{"name":"x"}`),
        random,
      );
  }
}

/**
 * The statuses that came back until the server hung up. We end our half at once, so that a
 * request that is not whole need not run into a timeout.
 */
export function exchange(place: Place, bytes: Uint8Array): Promise<number[]> {
  return new Promise((resolve) => {
    const socket = openSocket(place);
    let heard = '';
    // An event stream never ends; whatever has not hung up by then is not waited for.
    const late = setTimeout(() => socket.destroy(), 1_000);
    socket.on('data', (piece) => {
      if (heard.length < 100_000) heard += piece.toString('latin1');
      if (heard.includes('text/event-stream')) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(late);
      resolve([...heard.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status)));
    });
    socket.end(bytes);
  });
}

/** Connections that begin a request and never finish it; `release` hangs up. */
export async function holdHalfRequests(
  place: Place,
  count: number,
): Promise<{ release: () => void }> {
  const sockets = Array.from({ length: count }, () => openSocket(place));
  for (const socket of sockets) socket.on('error', () => undefined);
  const event = place.kind === 'tls' ? 'secureConnect' : 'connect';
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.once('close', () => resolve());
          socket.once(event, () => socket.write('GET / HTTP/1.1\r\nhost: x', () => resolve()));
        }),
    ),
  );
  return {
    release: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
