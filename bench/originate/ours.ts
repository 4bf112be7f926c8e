/** Our side of it: a speaker that waits for the sink, and one that feeds the others. */
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import { spawnIn } from '../../test/interop/link.ts';
import { feederAsn, type Originator, originatorAsn, prefixAt, sinkAddress } from './originator.ts';
import { sinkAsn } from './sink.ts';

export const ours: Originator = {
  name: 'ours',
  isFed: false,
  async start(link, folder, routes) {
    const args = JSON.stringify({ local: link.their4, routes });
    const child = spawnIn(link.theirs, process.execPath, [process.argv[1]!, 'as-ours', args], {
      logFd: openSync(join(folder, 'log'), 'a'),
      ipc: true,
    });
    await new Promise((resolve) => child.once('message', resolve));
    return { count: async () => routes };
  },
};

const table = (routes: number) =>
  Array.from({ length: routes }, (_, i) => ({ prefix: prefixAt(i) }));

export async function runOurs({ local, routes }: { local: string; routes: number }): Promise<void> {
  const speaker = new Speaker({ listen: { address: local } });
  await speaker.listen();
  speaker.setPeers([
    {
      address: sinkAddress,
      asn: sinkAsn,
      localAsn: originatorAsn,
      routerId: local,
      isPassive: true,
      families: ['ipv4'],
      idleSeconds: 0.1,
    },
  ]);
  speaker.set(table(routes));
  process.send?.('ready');
}

export async function runFeeder(args: { local: string; remote: string; routes: number }) {
  const speaker = new Speaker({ listen: false });
  speaker.setPeers([
    {
      address: args.remote,
      localAddress: args.local,
      asn: originatorAsn,
      localAsn: feederAsn,
      routerId: args.local,
      families: ['ipv4'],
      holdSeconds: 240,
      connectRetrySeconds: 1,
    },
  ]);
  speaker.set(table(args.routes));
}
