import { describe, expect, test } from 'vitest';
import { listLinks } from './link-messages.ts';
import { NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, type Request, request } from './message.ts';
import type { NativeNetlink } from './native.ts';
import { NetlinkSocket } from './socket.ts';

const EAGAIN = 11;
const ENOBUFS = 105;

/** A kernel that answers each send as the script says: buffers, or an errno below zero. */
function scripted(answer: (sequences: number[], sendNumber: number) => (Uint8Array | number)[]) {
  const queue: (Uint8Array | number)[] = [];
  const sent: number[][] = [];
  const receive = (_fd: number, into: Uint8Array) => {
    const next = queue.shift() ?? -EAGAIN;
    if (typeof next === 'number') return next;
    into.set(next);
    return next.length;
  };
  const native: NativeNetlink = {
    open: () => 3,
    close() {},
    setOption: () => true,
    joinGroups() {},
    async send(_fd, bytes) {
      const words = new DataView(bytes.slice().buffer);
      const sequences: number[] = [];
      for (let at = 0; at < bytes.length; at += (words.getUint32(at, true) + 3) & ~3) {
        sequences.push(words.getUint32(at + 8, true));
      }
      sent.push(sequences);
      queue.push(...answer(sequences, sent.length));
      return 0;
    },
    receive,
    receiveAsync: async (fd, into) => receive(fd, into),
    enterNamespace: () => 0,
  };
  return { socket: new NetlinkSocket(undefined, 0, native), sent };
}

function message(type: number, flags: number, sequence: number, ...body: number[]): Uint8Array {
  const words = new Uint32Array([16 + body.length * 4, type | (flags << 16), sequence, 0, ...body]);
  return new Uint8Array(words.buffer);
}
const ack = (sequence: number, errno = 0) => message(NLMSG_ERROR, 0, sequence, -errno);
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const wish = (what: string): Request => request(24, 0, what, (writer) => writer.u32(0));

describe('a netlink socket', () => {
  test('reports every refusal of a batch, with what was refused', async () => {
    const { socket } = scripted(([one, two, three]) => [
      join(ack(one as number, 17), ack(two as number, 101)),
      ack(three as number),
    ]);
    const failures = await socket.exchange([wish('one'), wish('two'), wish('three')]);
    expect(failures.map(({ errno, request }) => `${request.what} ${errno}`)).toEqual([
      'one 17',
      'two 101',
    ]);
  });

  test('splits what is too long for one buffer', async () => {
    const { socket, sent } = scripted((sequences) => [ack(sequences.at(-1) as number)]);
    const long = request(24, 0, 'long', (writer) => writer.raw(new Uint8Array(1000)));
    expect(await socket.exchange(Array.from({ length: 100 }, () => long))).toEqual([]);
    expect(sent.length).toBe(3);
    expect(sent.flat()).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  test('does not take an answer to an earlier question for its own', async () => {
    const { socket } = scripted(([sequence]) => [
      join(ack((sequence as number) - 1, 17), ack(sequence as number)),
    ]);
    await socket.run([wish('first')]);
    await expect(socket.run([wish('second')])).resolves.toBeUndefined();
  });

  test('says that the outcome is unknown when answers were lost', async () => {
    const { socket } = scripted(() => [-ENOBUFS]);
    await expect(socket.run([wish('add the route x')])).rejects.toMatchObject({
      code: 'KERNEL_REFUSED',
      errno: 'ENOBUFS',
      message: expect.stringContaining('the outcome is unknown'),
    });
  });

  test('repeats a dump that was interrupted or lost', async () => {
    const { socket, sent } = scripted(([sequence = 0], number) => {
      if (number === 1) return [-ENOBUFS];
      if (number === 2) return [message(16, NLM_F_DUMP_INTR, sequence), done(sequence)];
      return [message(16, 0, sequence), message(16, 0, sequence), done(sequence)];
    });
    expect(await socket.dump(listLinks(), () => 'link')).toEqual(['link', 'link']);
    expect(sent).toHaveLength(3);
  });

  test('gives up on a dump that never holds still', async () => {
    const { socket, sent } = scripted(([sequence = 0]) => [
      join(message(16, NLM_F_DUMP_INTR, sequence), done(sequence)),
    ]);
    await expect(socket.dump(listLinks(), () => 'link')).rejects.toMatchObject({ errno: 'EINTR' });
    expect(sent).toHaveLength(10);
  });

  const done = (sequence: number) => message(NLMSG_DONE, 0, sequence, 0);
});
