import { parseAddress } from '../../net/address.ts';
import { parseGoDuration } from './go-duration.ts';
import { type NodeSelector, readNodeSelector } from './read-selector.ts';
import type { YamlNode, YamlReader } from './yaml-reader.ts';

/** One entry of `peers`, defaults filled in. */
export interface ConfiguredPeer {
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly peerAsn: number;
  readonly myAsn: number;
  readonly sourceAddress?: string;
  readonly holdSeconds: number;
  readonly keepaliveSeconds: number;
  readonly routerId?: string;
  readonly password?: string;
  readonly ebgpMultihop: boolean;
  /** For nodes that match any of them; none means every node. */
  readonly nodeSelectors: readonly NodeSelector[];
}

const maxAsn = 0xffffffff;
const noBfd = 'BFD is not supported; take the key out, the session lives on BGP hold time alone';

export function readPeer(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
): ConfiguredPeer | undefined {
  const before = reader.problems.length;
  let peerAddress: string | undefined;
  let peerAsn: number | undefined;
  let myAsn: number | undefined;
  let peerPort = 179;
  let sourceAddress: string | undefined;
  let holdSeconds: number | undefined = 90;
  let keepaliveSeconds: number | undefined;
  let keepaliveNode: YamlNode | null = null;
  let routerId: string | undefined;
  let password: string | undefined;
  let ebgpMultihop = false;
  const nodeSelectors: NodeSelector[] = [];
  const seen = new Set<string>();
  const isMapping = reader.mapping(node, path, {
    'peer-address': (value, key) => {
      seen.add('peer-address');
      peerAddress = readAddress(reader, value, key);
    },
    'peer-asn': (value, key) => {
      seen.add('peer-asn');
      peerAsn = reader.integer(value, key, 1, maxAsn);
    },
    'my-asn': (value, key) => {
      seen.add('my-asn');
      myAsn = reader.integer(value, key, 1, maxAsn);
    },
    'peer-port': (value, key) => {
      peerPort = reader.integer(value, key, 1, 65535) ?? peerPort;
    },
    'source-address': (value, key) => {
      sourceAddress = readAddress(reader, value, key);
    },
    'hold-time': (value, key) => {
      holdSeconds = readHoldTime(reader, value, key);
    },
    'keepalive-time': (value, key) => {
      keepaliveNode = value;
      keepaliveSeconds = readDuration(reader, value, key);
    },
    'router-id': (value, key) => {
      routerId = readRouterId(reader, value, key);
    },
    password: (value, key) => {
      password = reader.text(value, key);
    },
    'ebgp-multihop': (value, key) => {
      ebgpMultihop = reader.boolean(value, key) ?? false;
    },
    'node-selectors': (value, key) => {
      reader.list(value, key, (item, itemPath) => {
        nodeSelectors.push(readNodeSelector(reader, item, itemPath));
      });
    },
    'bfd-profile': noBfd,
  });
  if (!isMapping) return undefined;
  for (const key of ['peer-address', 'peer-asn', 'my-asn']) {
    if (!seen.has(key)) reader.problem(node, `${path}.${key}`, `a peer needs ${key}`);
  }
  if (ebgpMultihop && peerAsn !== undefined && peerAsn === myAsn) {
    const sentence = 'ebgp-multihop makes no sense with a peer in our own AS';
    reader.problem(node, `${path}.ebgp-multihop`, sentence);
  }
  if (sourceAddress !== undefined && peerAddress !== undefined) {
    if (parseAddress(sourceAddress)?.family !== parseAddress(peerAddress)?.family) {
      const sentence = `source-address ${sourceAddress} and peer-address ${peerAddress} are of different families`;
      reader.problem(node, `${path}.source-address`, sentence);
    }
  }
  if (keepaliveSeconds !== undefined && holdSeconds !== undefined) {
    const fits = holdSeconds === 0 ? keepaliveSeconds === 0 : keepaliveSeconds < holdSeconds;
    if (!fits || (holdSeconds > 0 && keepaliveSeconds < 1)) {
      const sentence = `keepalive-time must be at least 1s and shorter than the hold time of ${holdSeconds}s`;
      reader.problem(keepaliveNode, `${path}.keepalive-time`, sentence);
    }
  }
  if (reader.problems.length > before) return undefined;
  return {
    peerAddress: peerAddress!,
    peerPort,
    peerAsn: peerAsn!,
    myAsn: myAsn!,
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    holdSeconds: holdSeconds!,
    // RFC 4271 §10 and MetalLB alike.
    keepaliveSeconds: keepaliveSeconds ?? Math.floor(holdSeconds! / 3),
    ...(routerId === undefined ? {} : { routerId }),
    ...(password === undefined ? {} : { password }),
    ebgpMultihop,
    nodeSelectors,
  };
}

function readAddress(reader: YamlReader, node: YamlNode | null, path: string): string | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  const address = parseAddress(text);
  if (address === undefined) {
    return reader.problem(node, path, `"${text}" is not an IPv4 or IPv6 address`);
  }
  return address.toString();
}

function readRouterId(reader: YamlReader, node: YamlNode | null, path: string): string | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  if (parseAddress(text)?.family !== 'ipv4' || text === '0.0.0.0') {
    return reader.problem(node, path, `router-id "${text}" must look like 192.0.2.1`);
  }
  return text;
}

/** Whole seconds, rounded down as MetalLB does. */
function readDuration(reader: YamlReader, node: YamlNode | null, path: string): number | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  const seconds = parseGoDuration(text);
  if (seconds === undefined) {
    return reader.problem(node, path, `"${text}" is not a duration such as 90s or 1m30s`);
  }
  return Math.floor(seconds);
}

/** RFC 4271 §4.2: no hold time at all, or at least three seconds. */
function readHoldTime(reader: YamlReader, node: YamlNode | null, path: string): number | undefined {
  const seconds = readDuration(reader, node, path);
  if (seconds === undefined) return undefined;
  if ((seconds !== 0 && seconds < 3) || seconds > 65535) {
    return reader.problem(node, path, 'hold-time must be 0, or from 3s to 65535s');
  }
  return seconds;
}
