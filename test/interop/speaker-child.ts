/** Our side of the wire: a speaker in a process of its own, driven over the IPC channel. */
import { Announcer } from '../../src/agent/announcer.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Metrics } from '../../src/base/metrics.ts';
import type { Announcement } from '../../src/bgp/rib/announcement.ts';
import type { RestartEvidence } from '../../src/bgp/session/session-negotiation.ts';
import { Speaker } from '../../src/bgp/speaker/speaker.ts';
import type { ListenTarget } from '../../src/bgp/transport/listen.ts';
import type { PeerSettings } from '../../src/model/peer-settings.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import type { DesiredAnnouncement } from '../../src/plan/node/desired-announcements.ts';
import type { NodePeer } from '../../src/plan/node/node-peers.ts';

let speaker: Speaker;
let isListening = false;
let announcer: Announcer;
const log = (fields: object, message: string) => console.log(message, JSON.stringify(fields));
const logs = { debug: log, info: log, warn: log, error: log };

const calls = {
  start(options: { listen?: ListenTarget | false; evidence?: RestartEvidence }) {
    const { listen, evidence } = options;
    speaker = new Speaker({
      listen,
      evidence: evidence && (() => evidence),
      world: { log: logs },
    });
    isListening = false;
  },
  setPeers: (peers: PeerSettings[]) => speaker.setPeers(peers),
  async set(announcements: Announcement[]) {
    const refused = speaker.set(announcements);
    // Not before its peers are known: with TTL security a router that is turned away does not see
    // our FIN, and waits for minutes.
    if (!isListening) await speaker.listen();
    isListening = true;
    return refused;
  },
  peers: () => speaker.peers(),
  announcedTo: (name: string) => speaker.announcedTo(name),
  close: (how: 'restart' | 'drain') => speaker.close(how),
  /** An agent's announcer in place of the bare speaker. */
  announce({ peers, announcements }: { peers: NodePeer[]; announcements: DesiredAnnouncement[] }) {
    announcer = new Announcer({
      listen: false,
      openSpeaker: (options) => {
        speaker = new Speaker(options);
        return speaker;
      },
      hasRestarted: () => false,
      clock: systemClock,
      log: logs,
      metrics: new Metrics(),
      onChange: () => undefined,
    });
    announcer.declare(peers, { blocks: announcements, services: [] });
  },
  contact: ({ own }: { own: string[] }) => {
    const parse = (text: string) => parsePrefix(text)!;
    const isOther = (address: string) => address === '10.88.0.3';
    const contact = announcer.contact(own.map(parse), isOther);
    const [session] = announcer.sessions();
    const received = session?.families?.find(({ family }) => family === 'ipv4')?.received ?? 0;
    return { hijacks: contact.hijacks, received };
  },
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
