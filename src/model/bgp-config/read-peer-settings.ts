/**
 * The settings of a peer out of a YAML mapping, by the table of model/peer-settings.ts:
 * for the ConfigMap and for the file of `cadastre bgp speak`. Every problem has the
 * line and the key it is about.
 */
import { parseAddress } from '../../net/address.ts';
import { type Family, families } from '../../net/family.ts';
import { peerProblems, peerSettingName, peerValueProblem } from '../peer-limits.ts';
import {
  type PeerSetting,
  type PeerSettingName,
  type PeerSettings,
  type PeerSettingValue,
  peerSettingRows,
  peerSettings,
} from '../peer-settings.ts';
import { parseGoDuration } from './go-duration.ts';
import type { FieldReader, YamlNode, YamlReader } from './yaml-reader.ts';

type YamlWayIn = 'file' | 'configMap';
type Fields = Record<string, FieldReader | string>;

export interface PeerMapping {
  /** What holds where the mapping says nothing. */
  readonly inherited?: Partial<PeerSettings>;
  /** Keys that are no settings of the session. */
  readonly more?: Readonly<Fields>;
}

export function readPeerSettings(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  way: YamlWayIn,
  { inherited = {}, more = {} }: PeerMapping = {},
): PeerSettings | undefined {
  const before = reader.problems.length;
  const read: Record<string, unknown> = { ...inherited };
  const places = new Map<PeerSettingName, { node: YamlNode | null; key: string }>();
  const fields: Fields = {};
  const groups: Record<string, Fields> = {};
  for (const [name, row] of peerSettingRows) {
    const [group = '', key] = row[way]?.split('.') ?? [];
    if (group === '') continue;
    const field: FieldReader = (value, at) => {
      places.set(name, { node: value, key: at });
      read[name] = readValue(reader, row, value, at, way);
    };
    if (key === undefined) fields[group] = field;
    else {
      groups[group] ??= {};
      groups[group][key] = field;
    }
  }
  for (const [group, inside] of Object.entries(groups)) {
    fields[group] = (value, at) => {
      reader.mapping(value, at, inside);
    };
  }
  if (!reader.mapping(node, path, { ...fields, ...more })) return undefined;
  // MetalLB's way to say that there are none, beside a hold time of 0.
  if (read.holdSeconds === 0 && read.keepaliveSeconds === 0) delete read.keepaliveSeconds;
  for (const { about, sentence } of peerProblems(read as Partial<PeerSettings>, way)) {
    const place = places.get(about);
    // One that could not be read at all has been reported already.
    if (place !== undefined && read[about] === undefined) continue;
    const key = place?.key ?? `${path}.${peerSettingName(about, way)}`;
    reader.problem(place?.node ?? node, key, sentence);
  }
  return reader.problems.length > before ? undefined : (read as PeerSettings);
}

/** One setting, wherever it stands; what is outside its limits is a problem and undefined. */
export function readPeerSetting<Name extends PeerSettingName>(
  reader: YamlReader,
  name: Name,
  node: YamlNode | null,
  path: string,
  way: YamlWayIn,
): PeerSettingValue<Name> | undefined {
  const row: PeerSetting = peerSettings[name];
  const value = readValue(reader, row, node, path, way);
  if (value === undefined) return undefined;
  const clause = peerValueProblem(row, value, way);
  if (clause !== undefined) return reader.problem(node, path, `${path} ${clause}`);
  return value as PeerSettingValue<Name>;
}

function readValue(
  reader: YamlReader,
  row: PeerSetting,
  node: YamlNode | null,
  path: string,
  way: YamlWayIn,
): unknown {
  switch (row.kind) {
    case 'integer':
      return reader.integer(node, path, row.minimum ?? 0, row.maximum ?? 0xffffffff);
    case 'seconds':
      return readSeconds(reader, node, path, way);
    case 'flag':
      return reader.boolean(node, path);
    case 'families':
      return readFamilies(reader, node, path);
    case 'nextHops':
      return readNextHops(reader, node, path);
    case 'address': {
      const text = reader.text(node, path);
      return text && (parseAddress(text)?.toString() ?? text);
    }
    default:
      return reader.text(node, path);
  }
}

/**
 * `90s` or `1m30s`; in our own file also a plain number of seconds. MetalLB rounds
 * down to whole seconds, so the ConfigMap does.
 */
function readSeconds(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  way: YamlWayIn,
): number | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  if (way === 'file' && /^\d+$/.test(text)) return Number(text);
  const seconds = parseGoDuration(text);
  if (seconds === undefined) {
    return reader.problem(node, path, `"${text}" is not a duration such as 90s or 1m30s`);
  }
  return way === 'configMap' ? Math.floor(seconds) : seconds;
}

function readFamilies(reader: YamlReader, node: YamlNode | null, path: string) {
  const before = reader.problems.length;
  const found: Family[] = [];
  reader.list(node, path, (item, key) => {
    const text = reader.text(item, key);
    const family = families.find((one) => one === text);
    if (family !== undefined) found.push(family);
    else if (text !== undefined) reader.problem(item, key, `"${text}" is neither ipv4 nor ipv6`);
  });
  return reader.problems.length > before ? undefined : found;
}

function readNextHops(reader: YamlReader, node: YamlNode | null, path: string) {
  const before = reader.problems.length;
  const nextHops: Partial<Record<Family, string>> = {};
  const of =
    (family: Family): FieldReader =>
    (value, key) => {
      nextHops[family] = reader.text(value, key) ?? '';
    };
  reader.mapping(node, path, { ipv4: of('ipv4'), ipv6: of('ipv6') });
  return reader.problems.length > before ? undefined : nextHops;
}
