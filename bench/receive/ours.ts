/** Ourselves: a speaker that only listens, with the received routes of its one peer. */
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { ReceivedRoutes } from '../../src/bgp/rib/received-routes.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import { spawnIn } from '../../test/interop/link.ts';
import { blasterAsn } from './blaster.ts';
import { type Receiver, receiverAsn } from './receiver.ts';

export interface OursArgs {
  readonly localAddress: string;
  readonly peerAddress: string;
}

/** The child: answers every question with the size of its Adj-RIB-In. */
export async function runOurs({ localAddress, peerAddress }: OursArgs): Promise<void> {
  const received = new ReceivedRoutes();
  const speaker = new Speaker({ ...received.events, listen: { address: localAddress } });
  await speaker.listen();
  speaker.setPeers([
    {
      name: 'sender',
      address: peerAddress,
      asn: blasterAsn,
      localAsn: receiverAsn,
      routerId: localAddress,
      isPassive: true,
      holdSeconds: 240,
    },
  ]);
  speaker.set([]);
  process.on('message', () => process.send?.({ routes: received.ribOf('sender')?.size ?? 0 }));
}

export const ours: Receiver = {
  name: 'ours',
  rounds: 3,
  start(link, folder) {
    const args: OursArgs = { localAddress: link.their4, peerAddress: link.our4 };
    const child = spawnIn(
      link.theirs,
      process.execPath,
      [process.argv[1]!, 'as-ours', JSON.stringify(args)],
      { logFd: openSync(join(folder, 'log'), 'a'), ipc: true },
    );
    return {
      child,
      askEveryMs: 5,
      count: () =>
        new Promise((resolve) => {
          child.once('message', (answer: { routes: number }) => resolve(answer.routes));
          child.send('how many?');
        }),
    };
  },
};
