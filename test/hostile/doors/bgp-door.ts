/** A listener for BGP, by the program that listens: damaged messages, and a flood of routes. */
import type { Socket } from 'node:net';
import {
  decodeMessage,
  encodeAnnounce,
  encodeNotification,
  Framer,
  Nlri,
  WireError,
} from '../../../src/bgp/wire/message.ts';
import { loadCorpus, Mutator, type Random } from '../../soak/bgp-codec/mutator.ts';
import { nextBatch, session, shakeHands } from '../../soak/bgp-session/live-fuzz.ts';
import { inLanes, Tally } from '../tally.ts';

export interface Listening {
  host: string;
  port: number;
}

/** Another one for every session: a neighbor that was refused is not heard again at once. */
let neighbors = 0;
export function nextNeighbor(): string {
  const n = neighbors++;
  return `127.${10 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
}

/** Messages through sessions that were opened well; each ends as the codec says it must. */
export async function attackBgp(at: Listening, random: Random, messages: number): Promise<Tally> {
  const tally = new Tally('BGP');
  const mutator = new Mutator(loadCorpus(), random);
  const batches: Array<ReturnType<typeof nextBatch>> = [];
  for (let left = messages; left > 0; left -= batches.at(-1)?.batch.length || left) {
    batches.push(nextBatch(mutator, left));
  }
  await inLanes(batches, 8, async ({ batch, end }) => {
    const { socket, isUp } = await shakeHands(nextNeighbor(), at);
    if (!isUp) return tally.breaks('a well-formed OPEN was refused');
    const seen = await converse(socket, batch, end === undefined);
    for (const _ of batch) tally.count('sent');
    const last = Buffer.from(batch.at(-1) ?? []).toString('hex');
    if (end !== undefined && seen !== end)
      tally.breaks(`expected ${end}, saw ${seen} after ${last}`);
  });
  return tally;
}

/** Sends all, and returns the NOTIFICATION that came, or `closed`. */
function converse(
  socket: Socket,
  batch: readonly Uint8Array[],
  mustLive: boolean,
): Promise<string> {
  return new Promise((resolve) => {
    const framer = new Framer();
    let seen = 'closed';
    socket.removeAllListeners('end').removeAllListeners('close').removeAllListeners('error');
    socket.on('data', (chunk) => {
      framer.push(chunk);
      for (let m = framer.next(session); m !== undefined; m = framer.next(session)) {
        if (m instanceof WireError) break;
        const result = decodeMessage(m, session);
        if (result.kind === 'message' && result.message.type === 'notification') {
          seen = `${result.message.code}/${result.message.subcode}`;
        }
      }
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve(seen));
    // A session that has to live is ended by us, after everything else was read.
    const cease = mustLive
      ? [encodeNotification({ code: 6, subcode: 2, data: new Uint8Array(0) })]
      : [];
    socket.write(Buffer.concat([...batch, ...cease]));
  });
}

/** UPDATE messages for so many /24 and /32 routes, all of them different. */
export function* floodOfRoutes(routes: number): Generator<Uint8Array> {
  const perGroup = 5_000;
  for (let from = 0; from < routes; from += perGroup) {
    const length = Math.min(perGroup, routes - from);
    const prefixes = Array.from({ length }, (_, at) => {
      const n = from + at;
      return Nlri.parse(`${20 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.0/24`)!;
    });
    const attributes = {
      origin: 'igp' as const,
      asPath: [{ type: 'seq' as const, asns: [64513] }],
    };
    yield* encodeAnnounce({ prefixes, attributes, nextHops: ['10.0.0.1'] }, session);
  }
}

/** One session that advertises so many routes and then ends itself; whether all were read. */
export async function floodBgp(at: Listening, routes: number): Promise<boolean> {
  const { socket, isUp } = await shakeHands(nextNeighbor(), at);
  if (!isUp) return false;
  socket.resume();
  return writeAll(socket, floodOfRoutes(routes), encodeNotification({ code: 6, subcode: 2 }));
}

/**
 * As fast as the other side reads. It hangs up when it has read `last`, and so everything
 * before it; if it hangs up earlier, the answer is false.
 */
export async function writeAll(
  socket: Socket,
  messages: Iterable<Uint8Array>,
  last: Uint8Array,
): Promise<boolean> {
  socket.on('error', () => undefined);
  socket.removeAllListeners('end').on('end', () => socket.destroy());
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  for (const message of messages) {
    if (socket.destroyed) return false;
    if (socket.write(message)) continue;
    await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))]);
  }
  if (socket.destroyed) return false;
  socket.write(last);
  await closed;
  return true;
}
