import type { Family } from '../../net/family.ts';
import { DisjointSpans } from '../../net/span-list.ts';
import {
  type AddressRange,
  largestBlockLength,
  parseAddressRange,
  spanOf,
} from './address-range.ts';
import { readCommunity } from './read-community.ts';
import type { YamlNode, YamlReader } from './yaml-reader.ts';

/** How the addresses of a pool are announced. */
export interface ConfiguredAdvertisement {
  readonly aggregationLength: number;
  readonly aggregationLengthV6: number;
  readonly localPref?: number;
  readonly communities: readonly number[];
}

/** One entry of `address-pools`, defaults filled in. */
export interface ConfiguredPool {
  readonly name: string;
  /** `layer2` is part of the grammar; whether it is served is for the user of the pool. */
  readonly protocol: 'bgp' | 'layer2';
  readonly addresses: readonly AddressRange[];
  readonly autoAssign: boolean;
  /** Leave out addresses that end in .0 and .255. */
  readonly avoidBuggyIps: boolean;
  readonly advertisements: readonly ConfiguredAdvertisement[];
}

/** What MetalLB announces where a pool says nothing: each address by itself. */
const plainAdvertisement: ConfiguredAdvertisement = {
  aggregationLength: 32,
  aggregationLengthV6: 128,
  communities: [],
};

export function readConfigMapPool(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  names: ReadonlyMap<string, number>,
): ConfiguredPool | undefined {
  const before = reader.problems.length;
  let name: string | undefined;
  let protocol: string | undefined;
  let autoAssign = true;
  let avoidBuggyIps = false;
  const addresses: AddressRange[] = [];
  const taken = new DisjointSpans<undefined>();
  const advertisements: { node: YamlNode | null; path: string; value: ConfiguredAdvertisement }[] =
    [];
  const isMapping = reader.mapping(node, path, {
    name: (value, key) => {
      name = reader.text(value, key);
    },
    protocol: (value, key) => {
      protocol = reader.text(value, key);
      if (protocol !== undefined && protocol !== 'bgp' && protocol !== 'layer2') {
        reader.problem(value, key, `protocol "${protocol}" must be bgp or layer2`);
      }
    },
    addresses: (value, key) => {
      reader.list(value, key, (item, itemPath) => {
        const parsed = readRange(reader, item, itemPath, taken);
        if (parsed !== undefined) addresses.push(parsed);
      });
    },
    'auto-assign': (value, key) => {
      autoAssign = reader.boolean(value, key) ?? true;
    },
    'avoid-buggy-ips': (value, key) => {
      avoidBuggyIps = reader.boolean(value, key) ?? false;
    },
    'bgp-advertisements': (value, key) => {
      reader.list(value, key, (item, itemPath) => {
        const one = readAdvertisement(reader, item, itemPath, names);
        if (one !== undefined) advertisements.push({ node: item, path: itemPath, value: one });
      });
    },
  });
  if (!isMapping) return undefined;
  if (name === undefined || name === '') {
    reader.problem(node, `${path}.name`, 'an address pool needs a name');
  }
  if (protocol === undefined) {
    reader.problem(node, `${path}.protocol`, 'an address pool needs a protocol, bgp or layer2');
  }
  if (addresses.length === 0 && reader.problems.length === before) {
    reader.problem(node, `${path}.addresses`, 'an address pool needs addresses');
  }
  if (protocol === 'layer2' && advertisements.length > 0) {
    const sentence = 'a layer2 pool is not announced over BGP and takes no bgp-advertisements';
    reader.problem(advertisements[0]!.node, `${path}.bgp-advertisements`, sentence);
  }
  const smallest = smallestRanges(addresses);
  for (const one of advertisements) checkAggregation(reader, one, smallest);
  if (reader.problems.length > before) return undefined;
  const values = advertisements.map((one) => one.value);
  return {
    name: name!,
    protocol: protocol as ConfiguredPool['protocol'],
    addresses,
    autoAssign,
    avoidBuggyIps,
    advertisements: values.length === 0 && protocol === 'bgp' ? [plainAdvertisement] : values,
  };
}

function readRange(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  taken: DisjointSpans<undefined>,
): AddressRange | undefined {
  const text = reader.text(node, path);
  if (text === undefined) return undefined;
  const parsed = parseAddressRange(text);
  if (typeof parsed === 'string') return reader.problem(node, path, parsed);
  const span = spanOf(parsed);
  const other = taken.lowest(span);
  if (other !== undefined) {
    return reader.problem(node, path, `${text} overlaps ${other.span.text} of the same pool`);
  }
  taken.add([span], undefined);
  return parsed;
}

function readAdvertisement(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
  names: ReadonlyMap<string, number>,
): ConfiguredAdvertisement | undefined {
  let aggregationLength = plainAdvertisement.aggregationLength;
  let aggregationLengthV6 = plainAdvertisement.aggregationLengthV6;
  let localPref: number | undefined;
  const communities = new Set<number>();
  const isMapping = reader.mapping(node, path, {
    'aggregation-length': (value, key) => {
      aggregationLength = reader.integer(value, key, 0, 32) ?? 32;
    },
    'aggregation-length-v6': (value, key) => {
      aggregationLengthV6 = reader.integer(value, key, 0, 128) ?? 128;
    },
    localpref: (value, key) => {
      localPref = reader.integer(value, key, 0, 0xffffffff);
    },
    communities: (value, key) => {
      reader.list(value, key, (item, itemPath) => {
        const community = readCommunity(reader, item, itemPath, names);
        if (community !== undefined) communities.add(community);
      });
    },
  });
  if (!isMapping) return undefined;
  return {
    aggregationLength,
    aggregationLengthV6,
    ...(localPref === undefined ? {} : { localPref }),
    communities: [...communities],
  };
}

/** Of each family the range that has only the smallest blocks: what fits there fits everywhere. */
function smallestRanges(addresses: readonly AddressRange[]) {
  const found = new Map<Family, { range: AddressRange; largest: number }>();
  for (const range of addresses) {
    const largest = largestBlockLength(range);
    const known = found.get(range.family);
    if (known === undefined || largest > known.largest) found.set(range.family, { range, largest });
  }
  return [...found.values()];
}

/** An aggregate larger than the pool would attract traffic for addresses that are not ours. */
function checkAggregation(
  reader: YamlReader,
  given: { node: YamlNode | null; path: string; value: ConfiguredAdvertisement },
  smallest: ReturnType<typeof smallestRanges>,
): void {
  for (const { range, largest } of smallest) {
    const isIpv4 = range.family === 'ipv4';
    const length = isIpv4 ? given.value.aggregationLength : given.value.aggregationLengthV6;
    const key = isIpv4 ? 'aggregation-length' : 'aggregation-length-v6';
    if (length >= largest) continue;
    const sentence = `${key} ${length} would announce more than ${range.text}`;
    reader.problem(given.node, `${given.path}.${key}`, sentence);
  }
}
