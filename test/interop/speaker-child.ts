/** Our side of the wire: a speaker in a process of its own, driven over the IPC channel. */
import type { Announcement } from '../../src/bgp/rib/announcement.ts';
import type { RestartEvidence } from '../../src/bgp/session/session-negotiation.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import type { ListenTarget } from '../../src/bgp/transport/listen.ts';
import type { PeerSettings } from '../../src/model/peer-settings.ts';

let speaker: Speaker;

const calls = {
  async start(options: { listen?: ListenTarget | false; evidence?: RestartEvidence }) {
    const { listen, evidence } = options;
    const log = (fields: object, message: string) => console.log(message, JSON.stringify(fields));
    speaker = new Speaker({
      listen,
      evidence: evidence && (() => evidence),
      world: { log: { debug: log, info: log, warn: log, error: log } },
    });
    await speaker.listen();
  },
  setPeers: (peers: PeerSettings[]) => speaker.setPeers(peers),
  set: (announcements: Announcement[]) => speaker.set(announcements),
  peers: () => speaker.peers(),
  announcedTo: (name: string) => speaker.announcedTo(name),
  close: (how: 'restart' | 'drain') => speaker.close(how),
};

export type Calls = typeof calls;

process.on('message', async (request: { id: number; call: keyof Calls; argument: never }) => {
  try {
    const result = await (calls[request.call] as (argument: never) => unknown)(request.argument);
    process.send?.({ id: request.id, result });
  } catch (error) {
    process.send?.({ id: request.id, error: String(error) });
  }
});
process.on('disconnect', () => process.exit(0));
