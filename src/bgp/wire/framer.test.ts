import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  defaultContext,
  encodeKeepalive,
  encodeNotification,
  encodeRouteRefresh,
  Framer,
  WireError,
} from './message.ts';

describe('the framer', () => {
  const stream = [encodeKeepalive(), encodeRouteRefresh({ afi: 1, safi: 1, subtype: 0 })];
  stream.push(encodeNotification({ code: 6, subcode: 2, shutdownCommunication: 'bye' }));
  const whole = Buffer.concat([...stream, ...stream]);

  test('finds the same messages however the octets are split', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
        const framer = new Framer();
        const found: string[] = [];
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          framer.push(whole.subarray(at, at + size));
          at += size;
          // Sometimes the caller does not drain: the next push must not lose anything.
          if (turn % 3 === 2 && at < whole.length) continue;
          for (let next = framer.next(defaultContext); next; next = framer.next(defaultContext)) {
            if (next instanceof WireError) throw new Error(next.detail);
            found.push(Buffer.from(next).toString('hex'));
          }
        }
        const expected = [...stream, ...stream].map((bytes) => Buffer.from(bytes).toString('hex'));
        expect(found).toEqual(expected);
        expect(framer.pendingLength).toBe(0);
      }),
    );
  });

  test('refuses garbage at its 19th octet and stays refused', () => {
    const framer = new Framer();
    framer.push(new Uint8Array(18));
    expect(framer.next(defaultContext)).toBeUndefined();
    framer.push(new Uint8Array(1));
    expect(framer.next(defaultContext)).toMatchObject({ code: 1, subcode: 1 });
    framer.push(encodeKeepalive());
    expect(framer.next(defaultContext)).toMatchObject({ code: 1, subcode: 1 });
  });
});
