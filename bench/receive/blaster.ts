/**
 * A plain TCP sender that speaks just enough BGP: it connects, says OPEN and
 * KEEPALIVE, and then writes a million routes it has encoded beforehand, so that
 * what is measured is the receiver. It tells its parent when the first UPDATE
 * leaves, and stays until it is killed.
 */
import { connect } from 'node:net';
import {
  defaultContext,
  encodeAnnounce,
  encodeKeepalive,
  encodeOpen,
  Framer,
  Nlri,
  preOpenContext,
  WireError,
} from '../../src/bgp/wire/message.ts';

export interface BlasterArgs {
  readonly host: string;
  readonly localAddress: string;
  readonly routes: number;
  readonly routesPerUpdate: number;
}

export const blasterAsn = 64513;

/** Distinct /24 from 1.0.0.0 on, all with one set of attributes. */
function updates({ localAddress, routes, routesPerUpdate }: BlasterArgs): Uint8Array {
  const messages: Uint8Array[] = [];
  for (let first = 0; first < routes; first += routesPerUpdate) {
    const count = Math.min(routesPerUpdate, routes - first);
    const prefixes = Array.from(
      { length: count },
      (_, n) => new Nlri(1, 24, (0x01000000 + (first + n) * 256) | 0),
    );
    const attributes = {
      origin: 'igp' as const,
      asPath: [{ type: 'seq' as const, asns: [blasterAsn] }],
    };
    const group = { prefixes, attributes, nextHops: [localAddress] };
    messages.push(...encodeAnnounce(group, defaultContext));
  }
  return Buffer.concat(messages);
}

export function runBlaster(args: BlasterArgs): void {
  const table = updates(args);
  let isUp = false;
  const dial = () => {
    const socket = connect({ host: args.host, port: 179, localAddress: args.localAddress });
    const framer = new Framer();
    socket.setNoDelay(true);
    // The receiver may still be starting, or may not expect us yet.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (isUp) process.exit(1);
      setTimeout(dial, 200);
    });
    socket.on('connect', () => {
      const open = {
        version: 4,
        asn: blasterAsn,
        holdSeconds: 240,
        routerId: args.localAddress,
        capabilities: [
          { name: 'multiprotocol', afi: 1, safi: 1 },
          { name: 'route-refresh' },
          { name: 'as4', asn: blasterAsn },
        ],
      } as const;
      socket.write(encodeOpen(open));
    });
    socket.on('data', (chunk) => {
      framer.push(chunk);
      for (;;) {
        const message = framer.next(preOpenContext);
        if (message === undefined || message instanceof WireError) return;
        const type = message[18];
        if (type === 1) socket.write(encodeKeepalive());
        if (type === 4 && !isUp) {
          isUp = true;
          // A moment for the receiver to settle into Established.
          setTimeout(() => {
            process.send?.({ startedAtMs: Date.now() });
            socket.write(table);
            setInterval(() => socket.write(encodeKeepalive()), 20_000);
          }, 200);
        }
      }
    });
  };
  dial();
}
