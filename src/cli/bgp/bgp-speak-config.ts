/**
 * The file of `cadastre bgp speak`: peers and announcements without Kubernetes.
 *
 *   asn: 64513
 *   router-id: 10.4.94.32
 *   peers:
 *     - name: tor1
 *       address: 10.4.94.1
 *       asn: 64524
 *   announcements:
 *     - prefix: 10.5.113.0/24
 *       communities: ['64513:100']
 *
 * What is not known here is a problem with its line and key, and with a single
 * problem there is no configuration: half of one announces half a network.
 */
import type { Node } from 'yaml';
import type { Announcement } from '../../bgp/rib/announcement.ts';
import type { ListenTarget } from '../../bgp/transport/listen.ts';
import { readPeerSetting, readPeerSettings } from '../../model/bgp-config/read-peer-settings.ts';
import {
  type ConfigProblem,
  type FieldReader,
  openYaml,
  type YamlReader,
} from '../../model/bgp-config/yaml-reader.ts';
import { type PeerSettings, peerSettings } from '../../model/peer-settings.ts';

export interface SpeakConfig {
  readonly listen: ListenTarget | false;
  readonly gracefulRestart: GracefulRestartConfig | undefined;
  readonly peers: readonly PeerSettings[];
  readonly announcements: readonly Announcement[];
}

export interface GracefulRestartConfig {
  readonly seconds: number;
  /** A file whose age tells the next run how long ago this one was alive. */
  readonly stateFile: string | undefined;
}

export type SpeakConfigResult =
  | { readonly kind: 'config'; readonly config: SpeakConfig }
  | { readonly kind: 'refused'; readonly problems: readonly ConfigProblem[] };

const maxUint32 = 0xffffffff;

type Draft<T> = { -readonly [K in keyof T]?: T[K] };

export function readSpeakConfig(text: string): SpeakConfigResult {
  const { document, reader } = openYaml(text);
  if (reader.problems.length > 0) return { kind: 'refused', problems: reader.problems };

  let asn: number | undefined;
  let routerId: string | undefined;
  let listen: ListenTarget | false = {};
  let gracefulRestart: GracefulRestartConfig | undefined;
  const peers: { node: Node | null; path: string }[] = [];
  const announcements: Announcement[] = [];
  reader.mapping(document.contents, '', {
    asn: (node, key) => {
      asn = readPeerSetting(reader, 'localAsn', node, key, 'file');
    },
    'router-id': (node, key) => {
      routerId = readPeerSetting(reader, 'routerId', node, key, 'file');
    },
    listen: (node, key) => {
      listen = readListen(reader, node, key);
    },
    'graceful-restart': (node, key) => {
      gracefulRestart = readGracefulRestart(reader, node, key);
    },
    peers: (node, key) =>
      reader.list(node, key, (item, path) => {
        peers.push({ node: item, path });
      }),
    announcements: (node, key) =>
      reader.list(node, key, (item, path) => {
        announcements.push(readAnnouncement(reader, item, path));
      }),
  });
  const isGiven = (key: string) => reader.problems.some((problem) => problem.key === key);
  if (asn === undefined && !isGiven('asn')) {
    reader.problemAt(0, 'asn', 'asn (our own AS) is missing');
  }
  if (routerId === undefined && !isGiven('router-id')) {
    reader.problemAt(0, 'router-id', 'router-id is missing');
  }
  // After the rest: what they inherit may stand below them. Without it they would all be wrong.
  const inherited = {
    localAsn: asn ?? peerSettings.localAsn.minimum,
    routerId,
    gracefulRestartSeconds: gracefulRestart?.seconds,
  };
  const complete = peers.flatMap(
    ({ node, path }) => readPeerSettings(reader, node, path, 'file', { inherited }) ?? [],
  );
  if (reader.problems.length > 0) return { kind: 'refused', problems: reader.problems };
  return { kind: 'config', config: { listen, gracefulRestart, peers: complete, announcements } };
}

function readListen(reader: YamlReader, node: Node | null, path: string): ListenTarget | false {
  if ((node as { value?: unknown } | null)?.value === false) return false;
  const target: Draft<ListenTarget> = {};
  reader.mapping(node, path, {
    address: (value, key) => {
      target.address = reader.text(value, key);
    },
    port: (value, key) => {
      target.port = reader.integer(value, key, 0, 65535);
    },
  });
  return target;
}

function readGracefulRestart(
  reader: YamlReader,
  node: Node | null,
  path: string,
): GracefulRestartConfig | undefined {
  let seconds: number | undefined = peerSettings.gracefulRestartSeconds.clusterDefault;
  let stateFile: string | undefined;
  reader.mapping(node, path, {
    time: (value, key) => {
      seconds = readPeerSetting(reader, 'gracefulRestartSeconds', value, key, 'file');
    },
    'state-file': (value, key) => {
      stateFile = reader.text(value, key);
    },
  });
  return seconds === undefined ? undefined : { seconds, stateFile };
}

function readAnnouncement(reader: YamlReader, node: Node | null, path: string): Announcement {
  const draft: Draft<Announcement> = {};
  const whole =
    (field: 'localPref' | 'med' | 'prepend'): FieldReader =>
    (value, key) => {
      draft[field] = reader.integer(value, key, 0, maxUint32);
    };
  const texts =
    (field: 'communities' | 'largeCommunities' | 'peers'): FieldReader =>
    (value, key) => {
      const list: string[] = [];
      reader.list(value, key, (item, itemKey) => {
        list.push(reader.text(item, itemKey) ?? '');
      });
      draft[field] = list;
    };
  reader.mapping(node, path, {
    prefix: (value, key) => {
      draft.prefix = reader.text(value, key) ?? '';
    },
    'next-hop': (value, key) => {
      draft.nextHop = reader.text(value, key);
    },
    communities: texts('communities'),
    'large-communities': texts('largeCommunities'),
    'local-pref': whole('localPref'),
    med: whole('med'),
    prepend: whole('prepend'),
    peers: texts('peers'),
  });
  if (draft.prefix === undefined) {
    reader.problem(node, `${path}.prefix`, 'an announcement needs prefix');
  }
  return draft as Announcement;
}
