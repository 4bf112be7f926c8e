/** A listener for BMP: damaged streams, a flood of routes, and more routers than it takes. */
import { connect, type Socket } from 'node:net';
import { bmpCorpus, bmpPeer } from '../../parts/bmp-corpus.ts';
import { encodeRouteMonitoring, encodeTermination } from '../../parts/bmp-encode.ts';
import { loadCorpus, Mutator, type Random } from '../../soak/bgp-codec/mutator.ts';
import { damagedBytes } from '../damage.ts';
import { inLanes, Tally } from '../tally.ts';
import { floodOfRoutes, type Listening, writeAll } from './bgp-door.ts';

export async function attackBmp(at: Listening, random: Random, streams: number): Promise<Tally> {
  const tally = new Tally('BMP');
  const mutator = new Mutator(loadCorpus(), random);
  const make = () => {
    const [initiation, peerUp, ...rest] = bmpCorpus as [Uint8Array, Uint8Array, ...Uint8Array[]];
    const damaged = Array.from({ length: 5 }, () => encodeRouteMonitoring(bmpPeer, mutator.next()));
    const stream = Buffer.concat([initiation, peerUp, ...damaged, ...rest]);
    return random.below(4) === 0 ? stream : damagedBytes(stream, random);
  };
  await inLanes(Array.from({ length: streams }, make), 16, async (stream) => {
    tally.count(await send(at, stream));
  });
  // Each may hold a table of any size, so there is a limit; whoever is beyond it is turned away.
  const many = await Promise.all(Array.from({ length: 300 }, () => open(at)));
  for (const socket of many) socket?.write(bmpCorpus[0] as Uint8Array);
  tally.count('300 routers at once');
  for (const socket of many) socket?.destroy();
  return tally;
}

function send(at: Listening, stream: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ ...at });
    socket.on('error', () => resolve('reset'));
    socket.on('close', () => resolve('closed'));
    socket.resume();
    socket.end(stream);
  });
}

function open(at: Listening): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...at });
    socket.on('error', () => resolve(undefined));
    socket.on('connect', () => resolve(socket));
  });
}

/** A router that reports so many routes and then says that it ends; whether all were read. */
export async function floodBmp(at: Listening, routes: number): Promise<boolean> {
  const socket = await open(at);
  if (socket === undefined) return false;
  const [initiation, peerUp] = bmpCorpus as [Uint8Array, Uint8Array];
  function* messages() {
    yield initiation;
    yield peerUp;
    for (const update of floodOfRoutes(routes)) yield encodeRouteMonitoring(bmpPeer, update);
  }
  socket.resume();
  return writeAll(socket, messages(), encodeTermination());
}
