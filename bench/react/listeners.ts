/**
 * The five peers, in a process of their own: four that note when each UPDATE
 * arrives, and one that asks for the whole table again as soon as it has it.
 */
import { connect } from 'node:net';

export const peerAsn = 64999;
export const watcherAddresses = ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14'];
export const refreshingAddress = '127.0.0.15';

export interface Arrival {
  address: string;
  /** The MED of the UPDATE says which change it belongs to. */
  med: number;
  /** On the monotonic clock, which all processes of a machine share. */
  atNs: string;
}

const header = (type: number, body: readonly number[]) => {
  const length = 19 + body.length;
  return Buffer.from([...Array<number>(16).fill(255), length >> 8, length & 255, type, ...body]);
};

function opening(address: string): Buffer {
  const id = address.split('.').map(Number);
  const capabilities = [
    2,
    6,
    1,
    4,
    0,
    1,
    0,
    1,
    2,
    2,
    2,
    0,
    2,
    6,
    65,
    4,
    0,
    0,
    peerAsn >> 8,
    peerAsn & 255,
  ];
  return header(1, [
    4,
    peerAsn >> 8,
    peerAsn & 255,
    0,
    240,
    ...id,
    capabilities.length,
    ...capabilities,
  ]);
}

const keepalive = header(4, []);
const refresh = header(5, [0, 1, 0, 1]);

/** Connects one peer and calls back for every UPDATE with its octets. */
function join(address: string, port: number, onUpdate: (update: Buffer) => void) {
  const socket = connect({ host: '127.0.0.1', port, localAddress: address, noDelay: true });
  let rest = Buffer.alloc(0);
  socket.on('connect', () => socket.write(opening(address)));
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= 19) {
      const length = rest.readUInt16BE(at + 16);
      if (rest.length - at < length) break;
      if (rest[at + 18] === 1) socket.write(keepalive);
      if (rest[at + 18] === 2) onUpdate(rest.subarray(at, at + length));
      at += length;
    }
    rest = rest.subarray(at);
  });
  return socket;
}

const isEndOfRib = (update: Buffer) => update.length === 23;

/** The MULTI_EXIT_DISC of an UPDATE, 0 if it has none. */
function medOf(update: Buffer): number {
  let at = 23 + update.readUInt16BE(19);
  const end = at + update.readUInt16BE(at - 2);
  while (at < end) {
    const isLong = (update[at]! & 0x10) !== 0;
    const length = isLong ? update.readUInt16BE(at + 2) : update[at + 2]!;
    const value = at + (isLong ? 4 : 3);
    if (update[at + 1] === 4) return update.readUInt32BE(value);
    at = value + length;
  }
  return 0;
}

export function runListeners({ port, routes }: { port: number; routes: number }): void {
  for (const address of watcherAddresses) {
    join(address, port, (update) => {
      const atNs = process.hrtime.bigint().toString();
      if (isEndOfRib(update)) process.send?.({ ready: address });
      else process.send?.({ address, med: medOf(update), atNs } satisfies Arrival);
    });
  }
  let tables = 0;
  let octets = 0;
  const refreshing = join(refreshingAddress, port, (update) => {
    octets += update.length;
    // Four octets a prefix: when a table's worth has come, ask for the next.
    if (octets < 4 * routes) return;
    octets = 0;
    tables++;
    process.send?.({ tables });
    refreshing.write(refresh);
  });
}
