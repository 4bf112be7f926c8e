import { createServer, type Server, type Socket } from 'node:net';
import { endianness } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { canonicalPeerAddress } from './canonical-peer-address.ts';
import { dial, needsNativeSockets, refuseTransport } from './dial.ts';
import { descriptorOf, listen } from './listen.ts';
import { md5Option, nativeSockets } from './native-sockets.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const missing = { kind: 'missing', reason: 'koffi does not load' } as const;
const words = (at: number, length: number) => (bytes: Uint8Array) => [
  ...bytes.subarray(at, at + length),
];

describe('addresses', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['router', undefined],
    ['', undefined],
  ])('%s is %s', (text, expected) => {
    expect(canonicalPeerAddress(text)).toBe(expected);
  });
});

describe('without koffi', () => {
  test('a peer that asks for MD5 or a TTL is refused with the reason, others are not', () => {
    expect(refuseTransport({}, missing)).toBeUndefined();
    expect(refuseTransport({ password: '' }, missing)).toBeUndefined();
    expect(refuseTransport({ password: 'x' }, missing)).toBe('koffi does not load');
    expect(refuseTransport({ ttl: 255, minTtl: 255 }, missing)).toBe('koffi does not load');
    expect(needsNativeSockets({})).toBe(false);
  });
});

describe('the MD5 option', () => {
  test.runIf(endianness() === 'LE')('is laid out as struct tcp_md5sig', () => {
    const four = md5Option(4, '192.0.2.1', 'abc');
    expect(four.length).toBe(216);
    expect(words(0, 8)(four)).toEqual([2, 0, 0, 0, 192, 0, 2, 1]);
    expect(words(130, 2)(four)).toEqual([3, 0]);
    expect(words(136, 4)(four)).toEqual([97, 98, 99, 0]);
    const mapped = md5Option(6, '192.0.2.1', 'abc');
    expect(words(0, 2)(mapped)).toEqual([10, 0]);
    expect(words(18, 6)(mapped)).toEqual([255, 255, 192, 0, 2, 1]);
    expect(words(8, 2)(md5Option(6, '2001:db8::1', 'abc'))).toEqual([0x20, 0x01]);
  });
  test('refuses a password that does not fit', () => {
    expect(() => md5Option(4, '192.0.2.1', 'x'.repeat(81))).toThrow('80 octets');
  });
});

describe.runIf(nativeSockets().kind === 'available')('a socket made by hand', () => {
  const native = nativeSockets();
  const echo = async (): Promise<{ port: number; remotes: string[] }> => {
    const remotes: string[] = [];
    const server: Server = createServer((socket) => {
      remotes.push(socket.remoteAddress ?? '');
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(server);
    return { port: (server.address() as { port: number }).port, remotes };
  };
  const event = (socket: Socket, name: string) =>
    new Promise<unknown>((resolve) => socket.once(name, resolve));

  test('connects from the given address, carries bytes, and can be asked what is unacknowledged', async () => {
    const { port, remotes } = await echo();
    const socket = dial({
      address: '127.0.0.1',
      port,
      localAddress: '127.0.0.7',
      options: { ttl: 255 },
    });
    await event(socket, 'connect');
    socket.write('hello');
    expect(String(await event(socket, 'data'))).toBe('hello');
    expect(remotes).toEqual(['127.0.0.7']);
    if (native.kind === 'available') {
      expect(native.sockets.unacknowledgedBytes(descriptorOf(socket)!)).toBe(0);
    }
    socket.destroy();
  });

  test('a connect that is refused is an error like any other', async () => {
    const { port } = await echo();
    await open.splice(0)[0]?.close();
    const socket = dial({ address: '127.0.0.1', port, options: { ttl: 255 } });
    expect(await event(socket, 'error')).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('a port that is taken is a refusal that names it, and says what to do', async () => {
    const { port } = await echo();
    const target = { address: '127.0.0.1', port };
    const none = () => undefined;
    await expect(listen(target, none, none)).rejects.toMatchObject({
      code: 'BAD_FLAG',
      message: `cannot listen for BGP on 127.0.0.1:${port}: EADDRINUSE`,
      remedy: 'Stop what listens there, or give another port.',
    });
  });

  test('keys of the listening socket come and go with the peers', async () => {
    const troubles: string[] = [];
    const accepted: string[] = [];
    const listener = await listen(
      { address: '127.0.0.1', port: 0 },
      (socket, remote) => {
        accepted.push(remote);
        socket.destroy();
      },
      (detail) => troubles.push(detail),
    );
    open.push(listener);
    const tryConnect = async (localAddress: string, password?: string) => {
      const socket = dial({
        address: '127.0.0.1',
        port: listener.port,
        localAddress,
        options: { password },
      });
      const answer = await Promise.race([
        event(socket, 'connect').then(() => true),
        new Promise<boolean>((resolve) => setTimeout(resolve, 300, false)),
      ]);
      socket.destroy();
      return answer;
    };
    listener.setPeers(new Map([['127.0.0.7', { password: 'kadaster' }]]));
    expect(await tryConnect('127.0.0.7', 'kadaster')).toBe(true);
    expect(await tryConnect('127.0.0.7', 'other')).toBe(false);
    expect(await tryConnect('127.0.0.7')).toBe(false);
    expect(await tryConnect('127.0.0.8')).toBe(true);
    listener.setPeers(new Map());
    expect(await tryConnect('127.0.0.7')).toBe(true);
    expect(accepted).toEqual(['127.0.0.7', '127.0.0.8', '127.0.0.7']);
    expect(troubles).toEqual([]);
  });
});
