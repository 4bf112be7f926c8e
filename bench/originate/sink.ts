/**
 * The one receiver for all: a plain TCP client that speaks just enough BGP to be
 * sent a table, counts distinct /24 and does nothing else.
 */
import { connect } from 'node:net';

export const sinkAsn = 64999;

export interface SinkArgs {
  host: string;
  localAddress: string;
  routes: number;
}

export interface SinkReport {
  /** From the connect that led to the session, to the last distinct prefix. */
  seconds: number;
  /** To 99 of 100 of them. */
  mostSeconds: number;
  updates: number;
}

const marker = Buffer.alloc(16, 0xff);

function message(type: number, body: Uint8Array): Buffer {
  const head = Buffer.from([0, 0, type]);
  head.writeUInt16BE(19 + body.length, 0);
  return Buffer.concat([marker, head, body]);
}

function open(routerId: readonly number[]): Buffer {
  // Multiprotocol IPv4 unicast, 4-octet AS, hold time 240.
  const capabilities = Buffer.from([
    2,
    6,
    1,
    4,
    0,
    1,
    0,
    1,
    2,
    6,
    65,
    4,
    0,
    0,
    sinkAsn >> 8,
    sinkAsn & 255,
  ]);
  const fixed = Buffer.from([
    4,
    sinkAsn >> 8,
    sinkAsn & 255,
    0,
    240,
    ...routerId,
    capabilities.length,
  ]);
  return message(1, Buffer.concat([fixed, capabilities]));
}

/** Connects until a session comes up, and resolves when all routes are here. */
export async function runSink(args: SinkArgs): Promise<SinkReport> {
  for (;;) {
    const report = await attempt(args);
    if (report !== undefined) return report;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function attempt({ host, localAddress, routes }: SinkArgs): Promise<SinkReport | undefined> {
  return new Promise((resolve) => {
    const start = performance.now();
    const seen = new Uint8Array(1 << 24);
    let count = 0;
    let updates = 0;
    let most = 0;
    let rest = Buffer.alloc(0);
    const socket = connect({ host, port: 179, localAddress, noDelay: true });
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => resolve(undefined));
    socket.on('connect', () => socket.write(open(localAddress.split('.').map(Number))));
    socket.on('data', (chunk) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      while (rest.length - at >= 19) {
        const length = rest.readUInt16BE(at + 16);
        if (rest.length - at < length) break;
        const type = rest[at + 18];
        if (type === 1) socket.write(message(4, new Uint8Array()));
        if (type === 2) take(at, length);
        at += length;
      }
      rest = rest.subarray(at);
    });

    function take(at: number, length: number): void {
      updates++;
      const attributes = at + 21 + rest.readUInt16BE(at + 19);
      let nlri = attributes + 2 + rest.readUInt16BE(attributes);
      for (const end = at + length; nlri < end; nlri += 1 + ((rest[nlri]! + 7) >> 3)) {
        const key = (rest[nlri + 1]! << 16) | (rest[nlri + 2]! << 8) | rest[nlri + 3]!;
        if (rest[nlri] !== 24 || seen[key] === 1) continue;
        seen[key] = 1;
        if (++count === Math.floor(routes * 0.99)) most = performance.now();
        if (count === routes) {
          const now = performance.now();
          resolve({ seconds: (now - start) / 1000, mostSeconds: (most - start) / 1000, updates });
          socket.destroy();
        }
      }
    }
  });
}
