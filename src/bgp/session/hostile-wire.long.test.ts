/** Two of our own under a wire that splits, stalls, half-closes and resets, in every state. */
import { afterEach, expect, test } from 'vitest';
import { Pair, until } from '../../../test/parts/bgp-pair.ts';
import { type Direction, type Harm, HostileWire } from '../../../test/parts/hostile-wire.ts';

const wireNear = '127.0.0.3';
const wireFar = '127.0.0.4';
const open: { pair: Pair; wire: HostileWire }[] = [];

afterEach(async () => {
  await Promise.all(
    open.splice(0).map(async ({ pair, wire }) => {
      await pair.close();
      await wire.close();
    }),
  );
});

async function begin(harm: Harm, prefixes: number): Promise<{ pair: Pair; wire: HostileWire }> {
  const pair = await Pair.start({
    both: { holdSeconds: 3, openHoldSeconds: 1, gracefulRestartSeconds: 30 },
    toSpeaker: { address: wireFar },
  });
  const wire = new HostileWire(
    { host: '127.0.0.2', port: pair.collector.port!, localAddress: wireFar },
    harm,
  );
  open.push({ pair, wire });
  const port = await wire.listen(wireNear);
  pair.speaker.setPeers([pair.collectorSettings({ address: wireNear, port })]);
  pair.speaker.set(
    Array.from({ length: prefixes }, (_, i) => ({ prefix: `10.${i >> 8}.${i & 255}.0/24` })),
  );
  return { pair, wire };
}

const isRight = (pair: Pair, prefixes: number) =>
  pair.router()?.state === 'Established' &&
  pair.router()?.isInSync === true &&
  pair.collector.routesOf('node').filter((route) => !route.stale).length === prefixes;

test('a wire that passes one octet at a time changes nothing', async () => {
  const { pair, wire } = await begin({ kind: 'split' }, 2000);
  await until('everything is advertised', () => isRight(pair, 2000));
  expect(wire.connections).toBe(1);
  pair.speaker.set([]);
  await until('everything is withdrawn', () => isRight(pair, 0));
});

/**
 * Octets at which something begins or ends: nothing said, inside the header of
 * OPEN, inside its capabilities, around its end (between 60 and 130), inside
 * KEEPALIVE, inside the first UPDATE and after all of it.
 */
const cuts = [0, 1, 18, 19, 28, 29, 45, 70, 90, 100, 110, 120, 127, 140, 160, 400, 4000, 4300];

for (const kind of ['reset', 'half-close'] as const) {
  for (const direction of ['out', 'in'] as const) {
    test(`a ${kind} at any octet on the way ${direction} is survived`, async () => {
      await Promise.all(
        cuts.map(async (atOctet) => {
          const { pair, wire } = await begin({ kind, direction, atOctet }, 1200);
          await until(
            `everything is advertised in spite of octet ${atOctet}`,
            () => isRight(pair, 1200),
            30_000,
          );
          // The harm was done where that many octets went that way at all.
          if (direction === 'out') expect(wire.connections).toBeGreaterThan(1);
        }),
      );
    }, 60_000);
  }
}

test('a wire that falls silent in any state is given up and replaced', async () => {
  const stalls: [Direction, number][] = [
    ['out', 0],
    ['out', 30],
    ['out', 130],
    ['out', 3000],
    ['in', 0],
    ['in', 30],
    ['in', 130],
  ];
  await Promise.all(
    stalls.map(async ([direction, atOctet]) => {
      const { pair } = await begin({ kind: 'stall', direction, atOctet }, 1200);
      await until(
        `everything is advertised after a stall at ${direction} ${atOctet}`,
        () => isRight(pair, 1200),
        30_000,
      );
    }),
  );
}, 60_000);
