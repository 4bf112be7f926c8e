import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { quick, until } from '../../../test/parts/bgp-pair.ts';
import { Speaker } from '../speaker/speaker.ts';
import { encodeKeepalive, encodeOpen } from '../wire/message.ts';
import { SessionWriter } from './session-writer.ts';

/** A socket whose far end takes one write at a time, when asked to. */
class SlowSocket extends Writable {
  readonly taken: Uint8Array[] = [];
  #release: (() => void) | undefined;

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.taken.push(chunk);
    this.#release = done;
  }

  take(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}

const update = (n: number) => new Uint8Array(4096).fill(n);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the writer', () => {
  let socket: SlowSocket;
  let pulled: number;
  let stalls: number;
  let left: number;
  const make = (sendHoldMs = 0) =>
    new SessionWriter(socket as unknown as Socket, {
      pull: () => {
        if (left-- <= 0) return undefined;
        return update(++pulled & 0xff);
      },
      nowMs: () => performance.now(),
      sendHoldMs,
      onStall: () => {
        stalls++;
      },
    });
  beforeEach(() => {
    socket = new SlowSocket({ highWaterMark: 16_384 });
    pulled = stalls = 0;
    left = 1000;
  });
  afterEach(() => {
    socket.destroy();
    vi.useRealTimers();
  });

  test('pulls no more than the socket has room for', async () => {
    make().kick();
    for (let i = 0; i < 50; i++) await turn();
    expect(pulled).toBeLessThanOrEqual(17);
    expect(pulled).toBeGreaterThan(4);
  });

  test('goes on as the peer takes bytes, in order, until nothing is left', async () => {
    left = 200;
    const writer = make();
    writer.kick();
    await until('all is taken', () => {
      socket.take();
      return socket.taken.length === 200 && writer.isDry;
    });
    expect(socket.taken.map((bytes) => bytes[0])).toEqual(
      Array.from({ length: 200 }, (_, i) => (i + 1) & 0xff),
    );
  });

  test('a KEEPALIVE stands behind what is in the socket, not behind the table', async () => {
    const writer = make();
    writer.kick();
    for (let i = 0; i < 20; i++) await turn();
    writer.sendNow(encodeKeepalive());
    await until('it was written', () => {
      socket.take();
      return socket.taken.some((bytes) => bytes.length === 19);
    });
    expect(socket.taken.length).toBeLessThanOrEqual(20);
    expect(left).toBeGreaterThan(900);
  });

  test('nothing is pulled before the first kick: OPEN comes alone', async () => {
    const writer = make();
    writer.sendNow(encodeKeepalive());
    await turn();
    expect(pulled).toBe(0);
    expect(socket.taken).toHaveLength(1);
  });

  test('a peer that takes nothing for the send-hold time is reported, one that takes little is not', () => {
    vi.useFakeTimers();
    const writer = make(1000);
    writer.sendNow(encodeKeepalive());
    vi.advanceTimersByTime(900);
    expect(stalls).toBe(0);
    socket.take();
    vi.advanceTimersByTime(5000);
    expect(stalls).toBe(0);
    writer.sendNow(encodeKeepalive());
    vi.advanceTimersByTime(1001);
    expect(stalls).toBe(1);
  });
});

test('a router that stops reading costs no memory, and its session ends at the send-hold time', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    const open = encodeOpen({
      version: 4,
      asn: 64524,
      holdSeconds: 0,
      routerId: '10.0.0.2',
      capabilities: [],
    });
    socket.write(Buffer.concat([open, encodeKeepalive()]));
    socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  const speaker = new Speaker({ listen: false });
  speaker.setPeers([
    {
      name: 'router',
      address: '127.0.0.2',
      port: (server.address() as { port: number }).port,
      asn: 64524,
      localAsn: 64513,
      routerId: '10.0.0.1',
      families: ['ipv4'],
      sendHoldSeconds: 1,
      ...quick,
    },
  ]);
  // A MED of its own makes an UPDATE of each: ten megabytes and more, beyond any socket buffer.
  const routes = 200_000;
  speaker.set(
    Array.from({ length: routes }, (_, i) => ({
      prefix: `${20 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`,
      med: i,
    })),
  );
  const router = () => speaker.peers()[0]!;
  await until('it is up', () => router().state === 'Established');
  let most = 0;
  await until('it is given up', () => {
    most = Math.max(most, router().announced);
    return router().lastError?.includes('send-hold') === true;
  });
  expect(most).toBeLessThan(routes);
  await speaker.close('restart');
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}, 60_000);
