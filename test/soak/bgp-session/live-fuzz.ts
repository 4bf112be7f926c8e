/**
 * Damaged messages through a live session. A client speaks the handshake like
 * any peer, then sends damaged messages to a collector; the codec, asked apart,
 * says what each must lead to. Where it says "session reset" the collector has to
 * answer with exactly that NOTIFICATION; otherwise the session has to go on, which
 * the next message proves.
 */
import { connect, type Socket } from 'node:net';
import { Collector } from '../../../src/bgp/collector.ts';
import {
  decodeMessage,
  encodeKeepalive,
  encodeOpen,
  Framer,
  type NotificationMessage,
  preOpenContext,
  type SessionContext,
  WireError,
} from '../../../src/bgp/wire/message.ts';
import type { Mutator } from '../bgp-codec/mutator.ts';

/** Each lane is a peer of its own, so that one can work while another waits out its back-off. */
const laneAddresses = [1, 3, 4, 5, 6, 7, 8, 9].map((last) => `127.0.0.${last}`);
const collectorAddress = '127.0.0.2';

/** What the handshake below agrees on. */
export const session: SessionContext = {
  as4: true,
  ibgp: false,
  extendedMessage: false,
  enhancedRouteRefresh: false,
  addPathIpv4: false,
  addPathIpv6: false,
};

const opening = Buffer.concat([
  encodeOpen({
    version: 4,
    asn: 64513,
    holdSeconds: 0,
    routerId: '10.0.0.1',
    capabilities: [
      { name: 'multiprotocol', afi: 1, safi: 1 },
      { name: 'multiprotocol', afi: 2, safi: 1 },
      { name: 'as4', asn: 64513 },
    ],
  }),
  encodeKeepalive(),
]);

export interface FuzzReport {
  messages: number;
  sessions: number;
  /** How often each outcome was demanded and came. */
  outcomes: Record<string, number>;
}

/** What one message must lead to in Established; undefined: the session goes on. */
function expectedEnd(bytes: Uint8Array): string | undefined {
  const framer = new Framer();
  framer.push(bytes);
  const frame = framer.next(session);
  // A message cut short is no message yet; the next octets become part of it.
  if (frame === undefined) return 'incomplete';
  if (frame instanceof WireError) return verdict(frame);
  const result = decodeMessage(frame, session);
  if (result.kind === 'error') return verdict(result.error);
  if (framer.pendingLength > 0) return 'incomplete';
  if (result.message.type === 'open') return '5/3';
  if (result.message.type === 'notification') return 'closed';
  return undefined;
}

function verdict(error: WireError): string {
  return error.quiet ? 'closed' : `${error.code}/${error.subcode}`;
}

export async function fuzzSessions(mutator: Mutator, messages: number): Promise<FuzzReport> {
  const collector = new Collector({
    listen: { address: collectorAddress, port: 0 },
  });
  await collector.listen();
  collector.setPeers(
    laneAddresses.map((address) => ({
      address,
      asn: 64513,
      localAsn: 64524,
      routerId: '10.0.0.2',
      isPassive: true,
      idleSeconds: 0.001,
      maxIdleSeconds: 0.001,
    })),
  );
  const report: FuzzReport = { messages: 0, sessions: 0, outcomes: {} };
  const work = async (address: string) => {
    while (report.messages < messages) {
      const { batch, end } = nextBatch(mutator, messages - report.messages);
      report.messages += batch.length;
      report.sessions++;
      const seen = await converse(collector, address, batch, end);
      if (seen !== end) {
        const last = Buffer.from(batch.at(-1) ?? []).toString('hex');
        throw new Error(`expected ${end}, saw ${seen} after ${last}`);
      }
      const name = end ?? 'lives';
      report.outcomes[name] = (report.outcomes[name] ?? 0) + 1;
    }
  };
  await Promise.all(laneAddresses.map(work));
  await collector.close();
  return report;
}

/** Messages up to and including the first that ends the session. */
export function nextBatch(mutator: Mutator, limit: number) {
  const batch: Uint8Array[] = [];
  while (batch.length < Math.min(limit, 200)) {
    const bytes = mutator.next();
    const end = expectedEnd(bytes);
    if (end === 'incomplete') continue;
    batch.push(bytes);
    if (end !== undefined) return { batch, end };
  }
  return { batch, end: undefined };
}

/** One connection: handshake, the batch, and how it ended; undefined if it did not. */
async function converse(
  collector: Collector,
  address: string,
  batch: readonly Uint8Array[],
  end: string | undefined,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const at = { host: collectorAddress, port: collector.port! };
    const { socket, isUp } = await shakeHands(address, at);
    if (!isUp) {
      // Still in the millisecond of Idle after the last refusal.
      socket.destroy();
      await new Promise((resolve) => setTimeout(resolve, 2));
      continue;
    }
    const seen = await say(socket, batch, end, () => keepalivesFrom(collector, address));
    socket.destroy();
    return seen;
  }
  throw new Error('the collector takes no connection any more');
}

function keepalivesFrom(collector: Collector, address: string): number {
  const peer = collector.peers().find((one) => one.address === address);
  return peer?.counters?.received.keepalives ?? 0;
}

/** A session up to Established, from a local address; `isUp` is false where it is refused. */
export function shakeHands(
  address: string,
  at: { host: string; port: number },
): Promise<{ socket: Socket; isUp: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({
      ...at,
      localAddress: address,
      allowHalfOpen: true,
      noDelay: true,
    });
    const framer = new Framer();
    const done = (isUp: boolean) => {
      socket.removeAllListeners('data');
      resolve({ socket, isUp });
    };
    socket.on('error', () => done(false));
    socket.on('close', () => done(false));
    socket.on('end', () => done(false));
    socket.on('connect', () => socket.write(opening));
    socket.on('data', (chunk) => {
      framer.push(chunk);
      for (let m = framer.next(preOpenContext); m !== undefined; m = framer.next(preOpenContext)) {
        if (m instanceof WireError) return done(false);
        // The collector's KEEPALIVE: it has our OPEN, and our KEEPALIVE follows on its heels.
        if (m[18] === 4) return done(true);
      }
    });
  });
}

function say(
  socket: Socket,
  batch: readonly Uint8Array[],
  end: string | undefined,
  heard: () => number,
): Promise<string | undefined> {
  const before = heard();
  return new Promise((resolve, reject) => {
    const framer = new Framer();
    let notification: NotificationMessage | undefined;
    const late = setTimeout(() => reject(new Error(`nothing came; expected ${end}`)), 20_000);
    const done = (seen: string | undefined) => {
      clearTimeout(late);
      clearInterval(poll);
      resolve(seen);
    };
    // A session that has to live proves it by counting the KEEPALIVE sent last.
    const poll = setInterval(() => {
      if (end === undefined && heard() > before + keepalives) done(undefined);
    }, 1);
    socket.on('data', (chunk) => {
      framer.push(chunk);
      for (let m = framer.next(session); m !== undefined; m = framer.next(session)) {
        if (m instanceof WireError) return reject(new Error(m.detail));
        const result = decodeMessage(m, session);
        if (result.kind === 'message' && result.message.type === 'notification') {
          notification = result.message;
        }
      }
    });
    const over = () =>
      done(notification === undefined ? 'closed' : `${notification.code}/${notification.subcode}`);
    socket.removeAllListeners('end').removeAllListeners('close').removeAllListeners('error');
    socket.on('end', over);
    socket.on('close', over);
    socket.on('error', over);
    const keepalives = batch.filter((bytes) => bytes[18] === 4).length;
    socket.write(Buffer.concat([...batch, ...(end === undefined ? [encodeKeepalive()] : [])]));
  });
}
