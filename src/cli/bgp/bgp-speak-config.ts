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
import { completePeer, type PeerSettings } from '../../bgp/speaker/peer-settings.ts';
import type { ListenTarget } from '../../bgp/transport/listen.ts';
import { parseGoDuration } from '../../model/bgp-config/go-duration.ts';
import {
  type ConfigProblem,
  type FieldReader,
  openYaml,
  type YamlReader,
} from '../../model/bgp-config/yaml-reader.ts';
import { type Family, families } from '../../net/family.ts';

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

const maxAsn = 0xffffffff;

type Draft<T> = { -readonly [K in keyof T]?: T[K] };

export function readSpeakConfig(text: string): SpeakConfigResult {
  const { document, reader } = openYaml(text);
  if (reader.problems.length > 0) return { kind: 'refused', problems: reader.problems };

  let asn: number | undefined;
  let routerId: string | undefined;
  let listen: ListenTarget | false = {};
  let gracefulRestart: GracefulRestartConfig | undefined;
  const peers: { node: Node | null; path: string; draft: Draft<PeerSettings> }[] = [];
  const announcements: Announcement[] = [];
  reader.mapping(document.contents, '', {
    asn: (node, key) => {
      asn = reader.integer(node, key, 1, maxAsn);
    },
    'router-id': (node, key) => {
      routerId = reader.text(node, key);
    },
    listen: (node, key) => {
      listen = readListen(reader, node, key);
    },
    'graceful-restart': (node, key) => {
      gracefulRestart = readGracefulRestart(reader, node, key);
    },
    peers: (node, key) =>
      reader.list(node, key, (item, path) => {
        peers.push({ node: item, path, draft: readPeer(reader, item, path) });
      }),
    announcements: (node, key) =>
      reader.list(node, key, (item, path) => {
        announcements.push(readAnnouncement(reader, item, path));
      }),
  });
  if (asn === undefined) reader.problemAt(0, 'asn', 'asn (our own AS) is missing');
  if (routerId === undefined) reader.problemAt(0, 'router-id', 'router-id is missing');
  const complete = peers.map(({ node, path, draft }): PeerSettings => {
    const settings = {
      localAsn: asn ?? 0,
      routerId: routerId ?? '',
      ...(gracefulRestart === undefined ? {} : { gracefulRestartSeconds: gracefulRestart.seconds }),
      ...draft,
    } as PeerSettings;
    for (const needed of ['address', 'asn'] as const) {
      if (draft[needed] === undefined) {
        reader.problem(node, `${path}.${needed}`, `a peer needs ${needed}`);
      }
    }
    return settings;
  });
  if (reader.problems.length === 0) {
    for (const [at, settings] of complete.entries()) {
      const result = completePeer(settings);
      if (result.kind === 'refused')
        reader.problem(peers[at]?.node, peers[at]!.path, result.reason);
    }
  }
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
  let seconds: number | undefined = 120;
  let stateFile: string | undefined;
  reader.mapping(node, path, {
    time: (value, key) => {
      seconds = readSeconds(reader, value, key, 1, 4095);
    },
    'state-file': (value, key) => {
      stateFile = reader.text(value, key);
    },
  });
  return seconds === undefined ? undefined : { seconds, stateFile };
}

function readPeer(reader: YamlReader, node: Node | null, path: string): Draft<PeerSettings> {
  const draft: Draft<PeerSettings> = {};
  const text =
    (field: 'name' | 'address' | 'localAddress' | 'routerId' | 'password'): FieldReader =>
    (value, key) => {
      draft[field] = reader.text(value, key) ?? '';
    };
  const whole =
    (
      field: 'asn' | 'localAsn' | 'port' | 'localPort' | 'multihopTtl' | 'ttlSecurityHops',
      high: number,
    ): FieldReader =>
    (value, key) => {
      draft[field] = reader.integer(value, key, 1, high) ?? 1;
    };
  const seconds =
    (field: 'holdSeconds' | 'keepaliveSeconds' | 'connectRetrySeconds'): FieldReader =>
    (value, key) => {
      draft[field] = readSeconds(reader, value, key, 0, 65535);
    };
  const flag =
    (field: 'isPassive' | 'gracefulShutdown'): FieldReader =>
    (value, key) => {
      draft[field] = reader.boolean(value, key);
    };
  reader.mapping(node, path, {
    name: text('name'),
    address: text('address'),
    port: whole('port', 65535),
    asn: whole('asn', maxAsn),
    'local-asn': whole('localAsn', maxAsn),
    'local-address': text('localAddress'),
    'local-port': whole('localPort', 65535),
    'router-id': text('routerId'),
    passive: flag('isPassive'),
    families: (value, key) => {
      draft.families = readFamilies(reader, value, key);
    },
    'hold-time': seconds('holdSeconds'),
    'keepalive-time': seconds('keepaliveSeconds'),
    'connect-retry': seconds('connectRetrySeconds'),
    password: text('password'),
    'multihop-ttl': whole('multihopTtl', 255),
    'ttl-security-hops': whole('ttlSecurityHops', 254),
    'graceful-shutdown': flag('gracefulShutdown'),
    'next-hop': (value, key) => {
      const nextHop: Partial<Record<Family, string>> = {};
      const of =
        (family: Family): FieldReader =>
        (hop, hopKey) => {
          nextHop[family] = reader.text(hop, hopKey) ?? '';
        };
      reader.mapping(value, key, { ipv4: of('ipv4'), ipv6: of('ipv6') });
      draft.nextHop = nextHop;
    },
    capabilities: (value, key) => {
      draft.capabilities = readCapabilities(reader, value, key);
    },
  });
  return draft;
}

function readCapabilities(reader: YamlReader, node: Node | null, path: string) {
  const capabilities: NonNullable<PeerSettings['capabilities']> = {};
  const flag =
    (field: keyof typeof capabilities): FieldReader =>
    (value, key) => {
      capabilities[field] = reader.boolean(value, key);
    };
  reader.mapping(node, path, {
    multiprotocol: flag('multiprotocol'),
    'route-refresh': flag('routeRefresh'),
    as4: flag('as4'),
    'extended-next-hop': flag('extendedNextHop'),
    'extended-message': flag('extendedMessage'),
  });
  return capabilities;
}

function readFamilies(reader: YamlReader, node: Node | null, path: string): Family[] {
  const found: Family[] = [];
  reader.list(node, path, (item, key) => {
    const text = reader.text(item, key);
    const family = families.find((one) => one === text);
    if (family !== undefined) found.push(family);
    else if (text !== undefined) reader.problem(item, key, `"${text}" is neither ipv4 nor ipv6`);
  });
  return found;
}

function readAnnouncement(reader: YamlReader, node: Node | null, path: string): Announcement {
  const draft: Draft<Announcement> = {};
  const whole =
    (field: 'localPref' | 'med' | 'prepend'): FieldReader =>
    (value, key) => {
      draft[field] = reader.integer(value, key, 0, maxAsn);
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

/** `90s`, `1m30s`, or a plain number of seconds. */
function readSeconds(
  reader: YamlReader,
  node: Node | null,
  path: string,
  low: number,
  high: number,
): number | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : parseGoDuration(text);
  if (seconds === undefined || seconds < low || seconds > high) {
    return reader.problem(node, path, `"${text}" is not a time from ${low}s to ${high}s`);
  }
  return seconds;
}
